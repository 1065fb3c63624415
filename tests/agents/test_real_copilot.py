"""`pmem run copilot`, whole: the real Copilot CLI, the session process, the rules, the bank."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import Bench, Ear, Model, Screen, npm_installed
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

from pmem.agents.copilot_cli import CopilotCli
from pmem.core.event import Finished

pytestmark = pytest.mark.slow

VERSION = "1.0.102"
ALLOWED = "--allow-all-tools"
RUN = (ALLOWED, "-s", "-p", "build it")

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]


@pytest.fixture
def copilot(outside: Path) -> MakeBench:
    """A Copilot CLI of its own, talking to this model server, in a project that fails to build."""
    program = npm_installed("@github/copilot", VERSION, "copilot")

    def bench(model: Model, name: str = "a") -> Bench:
        env = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "scripted",
        }
        made = bench_of(outside / name, program, env, program.parent)
        config = {"trusted_folders": [str(made.project)], "trustedFolders": [str(made.project)]}
        (made.home / ".copilot").mkdir()
        (made.home / ".copilot" / "config.json").write_text(json.dumps(config))
        return made

    return bench


def own_plugin(bench: Bench) -> Path:
    """A plug-in of the user's that leaves a line for each call."""
    place = bench.home / "plugin"
    place.mkdir()
    hook = {"type": "command", "bash": f"echo own >> {bench.home}/own", "timeoutSec": 10}
    hooks = {"version": 1, "hooks": {"preToolUse": [hook]}}
    manifest = {"name": "own", "version": "0.0.1", "hooks": "hooks.json"}
    (place / "plugin.json").write_text(json.dumps(manifest))
    (place / "hooks.json").write_text(json.dumps(hooks))
    return place


def test_the_third_identical_build_is_put_back_once_and_nothing_else_changes(
    model: StartModel, copilot: MakeBench
) -> None:
    bare = copilot(model(INSISTING), "bare")
    without = bare.run([str(bare.program), *RUN])
    played = model(INSISTING)
    bench = copilot(played, "pmem")
    done = bench.run([*PMEM, "run", "copilot", *RUN])
    assert (done.returncode, done.stdout) == (without.returncode, without.stdout)
    assert "It does not build." in done.stdout
    assert counts(played) == [0, 0, 0, 0, 1, 1]
    (message,) = told(played.requests()[-1])
    assert (message["role"], message["tool_call_id"]) == ("tool", "call_step004a")
    build = attempts(bench)
    assert (build["attempts"], build["exit_code"], build["outcome"]) == (3, 2, "failed")
    assert "db.h: No such file or directory" in build["output"]
    ran = [(s["action"], s["exit_code"]) for s in steps(bench) if s["kind"] == "command"]
    assert ran == [("make build", 2), ("make build", 2), ("cat Makefile", 0), ("make build", 2)]
    assert left(bench) == left(bare)


def test_without_holds_the_reminder_stands_in_the_builds_own_result(
    model: StartModel, copilot: MakeBench
) -> None:
    played = model(SCRIPT)
    bench = copilot(played)
    own = ("--plugin-dir", str(own_plugin(bench)))
    done = bench.run([*PMEM, "run", "--hold", "never", "copilot", *own, *RUN])
    assert "It does not build." in done.stdout
    assert counts(played) == [0, 0, 0, 0, 1]
    (message,) = told(played.requests()[-1])
    assert (message["role"], message["tool_call_id"]) == ("tool", "call_step004a")
    assert attempts(bench)["attempts"] == 3
    assert (bench.home / "own").read_text() == "own\n" * 4


def test_on_its_screen_the_reminder_reaches_the_model(
    model: StartModel, copilot: MakeBench, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    bench = copilot(played)
    shown = screen(bench, [*PMEM, "run", "copilot", ALLOWED])
    shown.wait("/ commands")
    shown.enter("build it")
    shown.wait("It does not build.")
    shown.enter("/exit")
    shown.wait("EXIT=0")
    assert counts(played)[-1] == 1
    build = attempts(bench)
    assert (build["attempts"], build["exit_code"]) == (2, 2)


def test_each_call_is_one_step_failing_and_parallel_ones_too(
    model: StartModel, copilot: MakeBench, ear: Callable[..., Ear], outside: Path, tmp_path: Path
) -> None:
    script = calls("create", "edit", "path", "file_text", {"old_str": "no", "new_str": "b"})
    bench = copilot(model(placed(script, outside / "a" / "project")))
    adapter = CopilotCli()
    session = ear(adapter)
    done = bench.run(*start(bench, session, adapter, tmp_path, *RUN))
    assert done.returncode == 0, done.stderr
    session.wait(Finished)
    assert_each_call_is_one_step(session, bench.project, closing="")


def test_a_subagents_steps_are_its_own(
    model: StartModel, copilot: MakeBench, ear: Callable[..., Ear], tmp_path: Path
) -> None:
    task = {"description": "look", "prompt": "look", "agent_type": "general-purpose"}
    task |= {"name": "x", "mode": "sync"}
    script = [{"tool": "task", "args": task}, {"shell": "make build"}, {"text": "Done."}]
    bench, adapter = copilot(model(script)), CopilotCli()
    session = ear(adapter)
    bench.run(*start(bench, session, adapter, tmp_path, *RUN))
    (build,) = [step for step in session.steps if step.action == "make build"]
    assert build.agent_id is not None and build.exit_code == 2
    assert [s.agent_id for s in session.steps if s.tool == "task"][-1] is None


def test_a_call_that_the_user_turns_down_is_refused(
    model: StartModel,
    copilot: MakeBench,
    ear: Callable[..., Ear],
    screen: Callable[..., Screen],
    tmp_path: Path,
) -> None:
    bench, adapter = copilot(model([{"shell": "touch x.txt"}, {"text": "Stopped."}])), CopilotCli()
    session = ear(adapter)
    shown = screen(bench, *start(bench, session, adapter, tmp_path))
    shown.wait("/ commands")
    shown.enter("build it")
    shown.wait("No, and tell Copilot")
    shown.keys("Escape")
    shown.wait("/ commands")
    shown.enter("leave it")
    shown.wait("Stopped.")
    session.wait(Finished)
    told = [(s.action, s.refused, s.exit_code) for s in session.steps]
    assert told == [("touch x.txt", True, None)]
    assert not (bench.project / "x.txt").exists()
