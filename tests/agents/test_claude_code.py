"""The real Claude Code: what its hooks tell, and where an answer reaches its model and its user.

A bare socket stands for the session here, so that every answer is the test's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import HELD, TOLD, Bench, Ear, Model, Screen, after, nth

from pmem.agents.claude_code import ClaudeCode
from pmem.agents.protocol import HookLine
from pmem.core.decision import HEADER
from pmem.core.event import (
    SILENT,
    Answer,
    Compacting,
    Ended,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.hook.line import hook_command

pytestmark = pytest.mark.slow

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]
OpenEar = Callable[..., Ear]


def start(bench: Bench, run_dir: Path, *args: str) -> Sequence[str]:
    """The command line that the adapter makes of these arguments."""
    line = HookLine(hook_command("claude", seconds=8))  # on a busy machine too
    program = str(bench.program)
    return ClaudeCode().launch(program, args, line, run_dir, bench.env, bench.project).argv


def results(request: dict[str, Any]) -> list[str]:
    """The texts of the tool results in a request to the model."""
    blocks = [
        block
        for message in request["body"]["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    return [str(block["content"]) for block in blocks if block.get("type") == "tool_result"]


def test_a_headless_run_is_told_event_by_event(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model(
        [{"shell": "make build"}, {"shell": "cd /tmp && pwd"}, {"shell": "grep nope Makefile"},
         {"text": "All done."}]
    )  # fmt: skip
    bench, session = claude(played), ear(ClaudeCode())
    done = bench.run(
        start(bench, tmp_path, "-p", "build it", "--allowedTools", "Bash"), session.env
    )
    assert done.returncode == 0 and done.stdout.startswith("All done.")
    kinds = [type(event) for event in session.events]
    assert kinds == [UserMessage, *[Proposed, Observed] * 3, Finished, Ended]
    assert session.events[0] == UserMessage("build it")
    assert [(s.action, s.exit_code, s.cwd) for s in session.steps] == [
        ("make build", 2, str(bench.project)),
        ("cd /tmp && pwd", 0, str(bench.project)),
        ("grep nope Makefile", 1, str(bench.project)),
    ]
    assert "db.h: No such file" in session.steps[0].observation


def test_a_reminder_after_a_step_is_in_the_next_request_and_stands_there_once(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shell": "make build"}, {"shell": "cat Makefile"}, {"text": "Done."}])
    bench, session = claude(played), ear(ClaudeCode(), after("make build", TOLD))
    bench.run(start(bench, tmp_path, "-p", "build it", "--allowedTools", "Bash"), session.env)
    first, second, third = played.requests()
    counts = [json.dumps(r["body"]).count(HEADER) for r in (first, second, third)]
    assert counts == [0, 1, 1]
    last = second["body"]["messages"][-1]
    # Newer models get a system message behind the tool's result, older ones a block beside it.
    assert HEADER in json.dumps(last) and HEADER not in "".join(results(second))


def test_a_reminder_at_a_proposal_comes_with_the_result(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shell": "make build"}, {"text": "Done."}])
    bench, session = claude(played), ear(ClaudeCode(), nth("make build", 1, TOLD))
    bench.run(start(bench, tmp_path, "-p", "build it", "--allowedTools", "Bash"), session.env)
    assert [body.count(HEADER) for body in played.bodies()] == [0, 1]
    assert [step.exit_code for step in session.steps] == [2]


def test_a_held_command_is_put_back_once_and_runs_when_proposed_again(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([*[{"shell": "make build"}] * 4, {"text": "Done."}])
    bench, session = claude(played), ear(ClaudeCode(), nth("make build", 3, HELD))
    done = bench.run(start(bench, tmp_path, "-p", "build", "--allowedTools", "Bash"), session.env)
    assert done.stdout.startswith("Done.")
    assert [step.exit_code for step in session.steps] == [2, 2, 2]
    told = results(played.requests()[-1])
    assert [HEADER in text for text in told] == [False, False, True, False]
    assert played.bodies()[-1].count(HEADER) == 1


def test_three_parallel_calls_are_three_steps(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shells": ["echo one", "make build", "echo three"]}, {"text": "Done."}])
    bench, session = claude(played), ear(ClaudeCode())
    bench.run(start(bench, tmp_path, "-p", "build", "--allowedTools", "Bash"), session.env)
    assert sorted((s.action, s.exit_code) for s in session.steps) == [
        ("echo one", 0), ("echo three", 0), ("make build", 2),
    ]  # fmt: skip


def test_a_subagents_steps_are_its_own(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    task = {"description": "look", "prompt": "look around", "subagent_type": "general-purpose"}
    played = model([{"tool": "Agent", "args": task}, {"shell": "make build"}, {"text": "Done."}])
    bench, session = claude(played), ear(ClaudeCode())
    bench.run(start(bench, tmp_path, "-p", "build", "--allowedTools", "Bash"), session.env)
    builds = [step for step in session.steps if step.action == "make build"]
    assert {step.agent_id is None for step in builds} == {True, False}
    assert next(step for step in session.steps if step.tool == "Agent").agent_id is None


def test_a_background_command_is_a_step_when_it_ended(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    background = {"command": "make build", "run_in_background": True}
    played = model([{"tool": "Bash", "args": background}, {"shell": "sleep 1"}, {"text": "Done."}])
    bench, session = claude(played), ear(ClaudeCode())
    bench.run(start(bench, tmp_path, "-p", "build", "--allowedTools", "Bash"), session.env)
    commands = [(s.action, s.exit_code) for s in session.steps if s.kind == "command"]
    assert sorted(commands) == [("make build", 2), ("sleep 1", 0)]


def test_without_permission_a_call_is_refused_and_a_malformed_one_an_error(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    edit = {"file_path": "/nowhere/x", "old_string": "a", "new_string": "b"}
    played = model([{"shell": "touch x"}, {"tool": "Edit", "args": edit}, {"text": "Done."}])
    bench, session = claude(played), ear(ClaudeCode())
    bench.run(start(bench, tmp_path, "-p", "build"), session.env)
    touch, edited = session.steps
    assert (touch.action, touch.refused, touch.exit_code) == ("touch x", True, None)
    assert (edited.kind, edited.is_error, edited.refused) == ("edit", True, False)


def test_a_compaction_is_told_with_its_summary(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shell": "make build"}, {"text": "Done."}])
    bench, session = claude(played), ear(ClaudeCode())
    bench.run(start(bench, tmp_path, "-p", "build", "--allowedTools", "Bash"), session.env)
    bench.run(start(bench, tmp_path, "-c", "-p", "/compact"), session.env)
    starts = [event.how for event in session.events if isinstance(event, Started)]
    assert starts == ["resume", "compact"]
    assert session.steps[-1].kind == "compaction"
    assert session.steps[-1].observation
    kinds = [type(event) for event in session.events]
    assert kinds.index(Compacting) < kinds.index(Observed, kinds.index(Compacting))


def test_hooks_of_the_users_own_run_as_often_as_without_pmem(
    model: StartModel, claude: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    script = [{"shell": "make build"}, {"shell": "echo two"}, {"text": "Done."}]
    counts = {}
    for name in ("bare", "pmem"):
        bench = claude(model(script), name)
        log = bench.home / "log"
        line = {"type": "command", "command": f"echo hook >> {log}"}
        hooks = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [line]}]}}
        (bench.home / ".claude").mkdir()
        (bench.home / ".claude" / "settings.json").write_text(json.dumps(hooks))
        args = ["-p", "go", "--allowedTools", "Bash", "--settings", json.dumps(hooks)]
        if name == "pmem":
            session = ear(ClaudeCode())
            bench.run(start(bench, tmp_path, *args), session.env)
            assert len(session.steps) == 2
        else:
            bench.run([str(bench.program), *args])
        counts[name] = log.read_text().count("hook")
    assert counts["pmem"] == counts["bare"] > 0


def test_without_a_session_the_agent_works_as_ever(
    model: StartModel, claude: MakeBench, tmp_path: Path, short_dir: Path
) -> None:
    played = model([{"shell": "make build"}, {"text": "Done."}])
    bench = claude(played)
    gone = {"PMEM_SOCK": str(short_dir / "gone"), "PMEM_TOKEN": "token"}
    done = bench.run(start(bench, tmp_path, "-p", "build", "--allowedTools", "Bash"), gone)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Done.")


def test_on_its_screen_reminder_hold_and_refusal_are_seen(
    model: StartModel,
    claude: MakeBench,
    ear: OpenEar,
    screen: Callable[..., Screen],
    tmp_path: Path,
) -> None:
    played = model(
        [{"shell": "cat Makefile"}, {"shell": "make build"}, {"shell": "touch x"},
         {"text": "Stopped."}]
    )  # fmt: skip
    replies = (after("cat Makefile", TOLD), nth("make build", 1, HELD))

    def reply(event: Event) -> Answer:
        return next((a for a in (r(event) for r in replies) if a.reminder), SILENT)

    bench, session = claude(played), ear(ClaudeCode(), reply)
    allowed = ("--permission-mode", "default", "--allowedTools", "Bash(cat:*)", "Bash(make:*)")
    shown = screen(bench, start(bench, tmp_path, *allowed), session.env)
    shown.wait("? for shortcuts")
    shown.enter("build it")
    seen = shown.wait("Do you want to proceed?", "touch x")
    assert "says: [MEMORY REMINDER] make build failed twice alike (steps 1, 2)." in seen
    assert "· make-build (steps 1, 2): make build: failed at steps 1, 2" in seen
    assert "held back once; proposed again it runs" in seen
    shown.keys("Escape")
    shown.wait("Interrupted")
    shown.enter("leave it then")
    shown.wait("Stopped.")
    session.wait(Finished)
    shown.enter("/exit")
    shown.wait("EXIT=0")
    ended = [(s.action, s.refused) for s in session.steps]
    assert ended == [("cat Makefile", False), ("touch x", True)], session.payloads
