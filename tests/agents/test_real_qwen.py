"""`pmem run qwen`, whole: the real Qwen Code, the session process, the rules, the bank."""

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

from pmem.agents.qwen_code import QwenCode
from pmem.core.event import Finished

pytestmark = pytest.mark.slow

VERSION = "0.24.4"
ARGS = ("--auth-type", "openai", "--approval-mode", "yolo")
RUN = (*ARGS, "-p", "build it")

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]


@pytest.fixture
def qwen(outside: Path) -> MakeBench:
    """A Qwen Code of its own, talking to this model server, in a project that fails to build."""
    node = node_directory()
    program = npm_installed("@qwen-code/qwen-code", VERSION, "qwen")

    def bench(model: Model, name: str = "a") -> Bench:
        env = {
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "scripted",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        }
        return bench_of(outside / name, program, env, program.parent, node)

    return bench


def test_the_third_identical_build_is_put_back_once_and_nothing_else_changes(
    model: StartModel, qwen: MakeBench
) -> None:
    bare = qwen(model(INSISTING), "bare")
    without = bare.run([str(bare.program), *RUN])
    played = model(INSISTING)
    bench = qwen(played, "pmem")
    done = bench.run([*PMEM, "run", "qwen", *RUN])
    assert (done.returncode, done.stdout) == (without.returncode, without.stdout)
    assert done.stdout.startswith("It does not build.")
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
    model: StartModel, qwen: MakeBench
) -> None:
    played = model(SCRIPT)
    bench = qwen(played)
    hooks = {"PreToolUse": [{"matcher": "*", "hooks": [
        {"type": "command", "command": f"echo own >> {bench.home}/own"}]}]}  # fmt: skip
    (bench.home / ".qwen").mkdir()
    (bench.home / ".qwen" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    done = bench.run([*PMEM, "run", "--hold", "never", "qwen", *RUN])
    assert done.stdout.startswith("It does not build.")
    assert counts(played) == [0, 0, 0, 0, 1]
    (message,) = told(played.requests()[-1])
    assert (message["role"], message["tool_call_id"]) == ("tool", "call_step004a")
    assert attempts(bench)["attempts"] == 3
    assert (bench.home / "own").read_text() == "own\n" * 4


def test_on_its_screen_the_reminder_reaches_the_model(
    model: StartModel, qwen: MakeBench, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    bench = qwen(played)
    shown = screen(bench, [*PMEM, "run", "qwen", *ARGS])
    shown.wait("Type your message")
    shown.enter("build it")
    shown.wait("It does not build.")
    shown.enter("/quit")
    shown.wait("EXIT=0")
    assert counts(played)[-1] == 1
    build = attempts(bench)
    assert (build["attempts"], build["exit_code"]) == (2, 2)


def test_each_call_is_one_step_failing_and_parallel_ones_too(
    model: StartModel, qwen: MakeBench, ear: Callable[..., Ear], outside: Path, tmp_path: Path
) -> None:
    script = calls(
        "write_file", "edit", "file_path", "content", {"old_string": "no", "new_string": "b"}
    )
    bench = qwen(model(placed(script, outside / "a" / "project")))
    adapter = QwenCode()
    session = ear(adapter)
    done = bench.run(*start(bench, session, adapter, tmp_path, *RUN))
    assert done.returncode == 0, done.stderr
    session.wait(Finished)
    assert_each_call_is_one_step(session, bench.project)


def test_a_subagents_steps_are_its_own(
    model: StartModel, qwen: MakeBench, ear: Callable[..., Ear], tmp_path: Path
) -> None:
    task = {"description": "look", "prompt": "look", "subagent_type": "general-purpose"}
    task |= {"run_in_background": False}
    script = [{"tool": "agent", "args": task}, {"shell": "make build"}, {"text": "Done."}]
    bench, adapter = qwen(model(script)), QwenCode()
    session = ear(adapter)
    bench.run(*start(bench, session, adapter, tmp_path, *RUN))
    (build,) = [step for step in session.steps if step.action == "make build"]
    assert build.agent_id is not None and build.exit_code == 2
    assert [s.agent_id for s in session.steps if s.tool == "agent"][-1] is None


def test_a_call_that_the_user_turns_down_is_refused(
    model: StartModel,
    qwen: MakeBench,
    ear: Callable[..., Ear],
    screen: Callable[..., Screen],
    tmp_path: Path,
) -> None:
    bench, adapter = qwen(model([{"shell": "touch x.txt"}, {"text": "Stopped."}])), QwenCode()
    session = ear(adapter)
    shown = screen(
        bench,
        *start(
            bench, session, adapter, tmp_path, "--auth-type", "openai", "--approval-mode", "default"
        ),
    )
    shown.wait("Type your message")
    shown.enter("build it")
    shown.wait("Yes, allow once")
    shown.keys("Escape")
    shown.wait("Type your message")
    shown.enter("leave it")
    shown.wait("Stopped.")
    session.wait(Finished)
    told = [(s.action, s.refused, s.exit_code) for s in session.steps]
    assert told == [("touch x.txt", True, None)]
    assert not (bench.project / "x.txt").exists()
