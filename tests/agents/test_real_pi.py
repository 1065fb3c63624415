"""`pmem run pi`, whole: the real pi, the session process, the rules, the bank."""

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
    node_directory,
    placed,
    start,
    steps,
    told,
)

from pmem.agents.pi import Pi
from pmem.core.event import Finished

pytestmark = pytest.mark.slow

VERSION = "1.6.0"
RUN = ("-p", "build it")

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]


@pytest.fixture
def pi(outside: Path) -> MakeBench:
    """A pi of its own, talking to this model server, in a project that fails to build."""
    node = node_directory()
    program = npm_installed("@earendil-works/pi-coding-agent", VERSION, "pi")

    def bench(model: Model, name: str = "a") -> Bench:
        env = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
        made = bench_of(outside / name, program, env, program.parent, node)
        directory = made.home / ".pi" / "agent"
        (directory / "extensions").mkdir(parents=True)
        provider = {
            "baseUrl": f"{model.url}/v1",
            "apiKey": "none",
            "api": "openai-completions",
            "models": [{"id": "scripted"}],
        }
        (directory / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
        settings = {"defaultProvider": "scripted", "defaultModel": "scripted"}
        (directory / "settings.json").write_text(json.dumps(settings))
        (directory / "extensions" / "own.js").write_text(
            'import fs from "node:fs"\n'
            f'const log = () => fs.appendFileSync("{made.home}/own", "own\\n")\n'
            'export default (pi) => pi.on("tool_call", async () => log())\n'
        )
        return made

    return bench


def test_the_third_identical_build_is_put_back_once_and_nothing_else_changes(
    model: StartModel, pi: MakeBench
) -> None:
    bare = pi(model(INSISTING), "bare")
    without = bare.run([str(bare.program), *RUN])
    played = model(INSISTING)
    bench = pi(played, "pmem")
    done = bench.run([*PMEM, "run", "pi", *RUN])
    assert (done.returncode, done.stdout) == (without.returncode, without.stdout)
    assert done.stdout.startswith("It does not build."), done.stderr
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
    model: StartModel, pi: MakeBench
) -> None:
    played = model([*SCRIPT[:4], {"shell": "echo on"}, SCRIPT[-1]])
    bench = pi(played)
    done = bench.run([*PMEM, "run", "--hold", "never", "pi", *RUN])
    assert done.stdout.startswith("It does not build.")
    assert counts(played) == [0, 0, 0, 0, 1, 0]
    request = played.requests()[4]
    assert told(request) == [request["body"]["messages"][-1]]
    assert told(request)[0]["role"] == "user"
    assert attempts(bench)["attempts"] == 3
    assert (bench.home / "own").read_text() == "own\n" * 5


def test_on_its_screen_the_reminder_is_seen(
    model: StartModel, pi: MakeBench, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    bench = pi(played)
    shown = screen(bench, [*PMEM, "run", "pi"])
    shown.wait("scripted")
    shown.enter("build it")
    shown.wait("It does not build.", "[MEMORY REMINDER]")
    shown.enter("/quit")
    shown.wait("EXIT=0")
    assert counts(played)[-1] == 1
    build = attempts(bench)
    assert (build["attempts"], build["exit_code"]) == (2, 2)


def test_each_call_is_one_step_failing_and_parallel_ones_too(
    model: StartModel, pi: MakeBench, ear: Callable[..., Ear], outside: Path, tmp_path: Path
) -> None:
    script = calls(
        "write", "edit", "path", "content", {"edits": [{"oldText": "no", "newText": "b"}]}
    )
    bench = pi(model(placed(script, outside / "a" / "project")))
    adapter = Pi()
    session = ear(adapter)
    done = bench.run(*start(bench, session, adapter, tmp_path, *RUN))
    assert done.returncode == 0, done.stderr
    session.wait(Finished)
    assert_each_call_is_one_step(session, bench.project)
