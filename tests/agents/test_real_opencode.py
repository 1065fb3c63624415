"""`pmem run opencode`, whole: the real opencode, the session process, the rules, the bank."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import CACHE, REAL_HOME, Bench, Ear, Model, Screen, npm_installed
from whole_runs import (
    INSISTING,
    PMEM,
    SCRIPT,
    assert_each_call_is_one_step,
    attempts,
    bench_of,
    calls,
    counts,
    left,
    placed,
    start,
    steps,
    told,
)

from pmem.agents.opencode import Opencode
from pmem.core.event import Finished

pytestmark = pytest.mark.slow

VERSION = "1.18.33"
RUN = ("run", "build it")

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]


def packages() -> Path:
    """What opencode installs into each user's configuration before it starts, installed once."""
    place = CACHE / f"opencode-config-{VERSION}"
    if not (place / "node_modules").exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is missing")
        command = [
            npm,
            "install",
            "--save-exact",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(place),
        ]
        env = {**os.environ, "HOME": str(REAL_HOME)}
        done = subprocess.run([*command, f"@opencode-ai/plugin@{VERSION}"], env=env)
        if done.returncode != 0:
            pytest.skip("opencode's own package cannot be installed")
    return place


@pytest.fixture
def opencode(outside: Path) -> MakeBench:
    """An opencode of its own, talking to this model server, in a project that fails to build."""
    program = npm_installed("opencode-ai", VERSION, "opencode")

    def bench(model: Model, name: str = "a") -> Bench:
        made = bench_of(outside / name, program, {}, program.parent)
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
            "models": {"scripted": {"name": "scripted"}},
        }
        own = made.home / "own.mjs"
        own.write_text(
            'import fs from "node:fs"\n'
            f'const log = () => fs.appendFileSync("{made.home}/own", "own\\n")\n'
            'export const Own = async () => ({ "tool.execute.before": async () => log() })\n'
        )
        config = {
            "model": "scripted/scripted",
            "provider": {"scripted": provider},
            "permission": "allow",
            "autoupdate": False,
            "plugin": [own.as_uri()],
        }
        directory = made.home / ".config" / "opencode"
        directory.mkdir(parents=True)
        for entry in packages().iterdir():
            (directory / entry.name).symlink_to(entry)
        (directory / "opencode.json").write_text(json.dumps(config))
        made.env["OPENCODE_DISABLE_MODELS_FETCH"] = "1"
        return made

    return bench


def test_the_third_identical_build_is_put_back_once_and_nothing_else_changes(
    model: StartModel, opencode: MakeBench
) -> None:
    bare = opencode(model(INSISTING), "bare")
    without = bare.run([str(bare.program), *RUN])
    played = model(INSISTING)
    bench = opencode(played, "pmem")
    done = bench.run([*PMEM, "run", "opencode", *RUN])
    assert (done.returncode, done.stdout) == (without.returncode, without.stdout)
    assert done.stdout.rstrip().splitlines()[-1].startswith("It does not build.")
    assert counts(played) == [0, 0, 0, 0, 1, 1]
    (message,) = told(played.requests()[-1])
    assert (message["role"], message["tool_call_id"]) == ("tool", "call_step004a")
    build = attempts(bench)
    assert (build["attempts"], build["exit_code"], build["outcome"]) == (3, 2, "failed")
    assert "db.h: No such file or directory" in build["output"]
    ran = [(s["action"], s["exit_code"]) for s in steps(bench) if s["kind"] == "command"]
    assert ran == [("make build", 2), ("make build", 2), ("cat Makefile", 0), ("make build", 2)]
    assert left(bench) == left(bare)


def test_without_holds_the_reminder_is_the_last_message_of_one_request_alone(
    model: StartModel, opencode: MakeBench
) -> None:
    played = model([*SCRIPT[:4], {"shell": "echo on"}, SCRIPT[-1]])
    bench = opencode(played)
    done = bench.run([*PMEM, "run", "--hold", "never", "opencode", *RUN])
    assert done.stdout.rstrip().splitlines()[-1].startswith("It does not build.")
    assert counts(played) == [0, 0, 0, 0, 1, 0]
    request = played.requests()[4]
    assert told(request) == [request["body"]["messages"][-1]]
    assert told(request)[0]["role"] == "user"
    assert attempts(bench)["attempts"] == 3
    assert (bench.home / "own").read_text() == "own\n" * 5


def test_on_its_screen_the_reminder_is_seen(
    model: StartModel, opencode: MakeBench, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    bench = opencode(played)
    shown = screen(bench, [*PMEM, "run", "opencode"])
    shown.wait("Ask anything")
    shown.enter("build it")
    shown.wait("[MEMORY REMINDER]")
    shown.wait("It does not build.")
    shown.keys("C-c")
    shown.wait("EXIT=0")
    assert counts(played)[-1] == 1
    build = attempts(bench)
    assert (build["attempts"], build["exit_code"]) == (2, 2)


def test_each_call_is_one_step_failing_and_parallel_ones_too(
    model: StartModel, opencode: MakeBench, ear: Callable[..., Ear], outside: Path, tmp_path: Path
) -> None:
    script = calls("write", "edit", "filePath", "content", {"oldString": "no", "newString": "b"})
    bench = opencode(model(placed(script, outside / "a" / "project")))
    adapter = Opencode()
    session = ear(adapter)
    done = bench.run(*start(bench, session, adapter, tmp_path, *RUN))
    assert done.returncode == 0, done.stderr
    session.wait(Finished)
    assert_each_call_is_one_step(session, bench.project)


def test_a_subagents_steps_are_its_own(
    model: StartModel, opencode: MakeBench, ear: Callable[..., Ear], tmp_path: Path
) -> None:
    task = {"description": "look", "prompt": "look around", "subagent_type": "general"}
    script = [{"tool": "task", "args": task}, {"shell": "make build"}, {"text": "Done."}]
    bench, adapter = opencode(model(script)), Opencode()
    session = ear(adapter)
    bench.run(*start(bench, session, adapter, tmp_path, *RUN))
    (build,) = [step for step in session.steps if step.action == "make build"]
    assert build.agent_id is not None and build.exit_code == 2
    assert [s.agent_id for s in session.steps if s.tool == "task"][-1] is None


def test_a_call_that_the_user_turns_down_is_refused(
    model: StartModel,
    opencode: MakeBench,
    ear: Callable[..., Ear],
    screen: Callable[..., Screen],
    tmp_path: Path,
) -> None:
    bench, adapter = opencode(model([{"shell": "touch x.txt"}, {"text": "Stopped."}])), Opencode()
    settings = bench.home / ".config" / "opencode" / "opencode.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "permission": "ask"}))
    session = ear(adapter)
    shown = screen(bench, *start(bench, session, adapter, tmp_path))
    shown.wait("Ask anything")
    shown.enter("build it")
    shown.wait("Permission required")
    shown.keys("Escape")
    session.wait(Finished)
    shown.enter("leave it")
    shown.wait("Stopped.")
    told = [(s.action, s.refused, s.exit_code) for s in session.steps]
    assert told == [("touch x.txt", True, None)]
    assert not (bench.project / "x.txt").exists()
