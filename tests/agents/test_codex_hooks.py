"""Codex's payloads, in the shapes 0.171.0 sends, become events; its own files tell the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.codex_hooks import CodexHooks
from pmem.core.decision import HEADER, Reminder
from pmem.core.event import (
    Answer,
    Compacting,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.step import Action, Step

ANSWER = Answer(Reminder("make failed twice alike.", ("make",), "r", "c"))


def payload(event: str, **rest: Any) -> bytes:
    return json.dumps({"session_id": "s", "cwd": "/p", "hook_event_name": event, **rest}).encode()


def bash(command: str, id: str = "exec-1", **rest: Any) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id, **rest}


def patched(text: str, id: str = "exec-2", **rest: Any) -> dict[str, Any]:
    given = {"command": text}
    return {"tool_name": "apply_patch", "tool_input": given, "tool_use_id": id, **rest}


def rollout(path: Path, *payloads: dict[str, Any], torn: bool = False) -> dict[str, str]:
    told = ({"type": "event_msg", "payload": one} for one in payloads)
    lines = [json.dumps(one, ensure_ascii=False) for one in told]  # as Codex writes them
    path.write_text("x" * 100 + "\n" + "\n".join(lines) + ('\n{"torn' if torn else "\n"))
    return {"transcript_path": str(path)}


def executed(id: str, exit_code: int | None, output: str = "") -> dict[str, Any]:
    item = {
        "type": "CommandExecution",
        "id": id,
        "cwd": "file:///p/with%20space",
        "exit_code": exit_code,
        "aggregated_output": output,
        "duration": {"secs": 1, "nanos": 500_000_000},
    }
    return {"type": "item_completed", "item": item}


def the_step(events: list[Event]) -> Step:
    (event,) = events
    assert isinstance(event, Observed)
    return event.step


@pytest.fixture
def hooks() -> CodexHooks:
    return CodexHooks()


def test_the_exit_code_comes_from_the_transcript(hooks: CodexHooks, tmp_path: Path) -> None:
    file = rollout(tmp_path / "r", executed("exec-0", 0), executed("exec-1", 3, "no"), torn=True)
    assert hooks.events(payload("PreToolUse", **bash("make"))) == [
        Proposed(Action("command", "make", "/p", "Bash", "exec-1"))
    ]
    step = the_step(hooks.events(payload("PostToolUse", **bash("make", tool_response="n"), **file)))
    assert (step.exit_code, step.observation, step.seconds) == (3, "no", 1.5)
    assert step.cwd == "/p/with space"


def test_an_output_with_other_line_ends_hides_no_exit_code(
    hooks: CodexHooks, tmp_path: Path
) -> None:
    seen = "all fine\u2028\u2029\x85\x1c"
    file = rollout(tmp_path / "r", executed("exec-1", 3, seen))
    step = the_step(hooks.events(payload("PostToolUse", **bash("make", tool_response="n"), **file)))
    assert (step.exit_code, step.observation) == (3, seen)


def test_a_transcript_that_is_a_pipe_is_not_waited_for(hooks: CodexHooks, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r")
    told = bash("make", tool_response="out", transcript_path=str(tmp_path / "r"))
    assert the_step(hooks.events(payload("PostToolUse", **told))).exit_code is None


@pytest.mark.parametrize("transcript", [None, "", "/nowhere/r.jsonl"])
def test_without_a_transcript_the_exit_code_is_unknown(
    hooks: CodexHooks, transcript: str | None
) -> None:
    told = bash("make", tool_response="out", transcript_path=transcript)
    step = the_step(hooks.events(payload("PostToolUse", **told)))
    assert (step.exit_code, step.observation) == (None, "out")


def test_a_patch_is_an_edit_with_its_own_text(hooks: CodexHooks) -> None:
    text = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
    (event,) = hooks.events(payload("PreToolUse", **patched(text)))
    assert event == Proposed(Action("edit", text, "/p", "apply_patch", "exec-2"))
    response = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated:\nA a\n"
    step = the_step(hooks.events(payload("PostToolUse", **patched(text, tool_response=response))))
    assert (step.observation, step.exit_code) == ("Success. Updated:\nA a\n", 0)


def test_a_patch_that_failed_is_told_with_the_next_event(hooks: CodexHooks, tmp_path: Path) -> None:
    said = "Script error:\napply_patch verification failed: no such file"
    output = {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": said}]}
    file = rollout(tmp_path / "r", output)
    hooks.events(payload("PreToolUse", **patched("*** Begin Patch")))
    first, second = hooks.events(payload("PreToolUse", **bash("make"), **file))
    assert isinstance(first, Observed) and isinstance(second, Proposed)
    assert (first.step.kind, first.step.is_error, first.step.refused) == ("edit", True, False)
    assert first.step.observation == "apply_patch verification failed: no such file"


@pytest.mark.parametrize("ending", ["Interrupt", "Stop"])
def test_an_interrupted_command_is_refused_and_never_told_twice(
    hooks: CodexHooks, ending: str
) -> None:
    hooks.events(payload("UserPromptSubmit", prompt="go"))
    hooks.events(payload("PreToolUse", **bash("sleep 60")))
    refused = hooks.events(payload(ending))[0]
    assert isinstance(refused, Observed) and refused.step.refused
    assert hooks.events(payload("PostToolUse", **bash("sleep 60", tool_response=""))) == []


def test_a_message_while_a_command_runs_refuses_nothing(hooks: CodexHooks) -> None:
    hooks.events(payload("PreToolUse", **bash("make")))
    assert hooks.events(payload("UserPromptSubmit", prompt="and lint")) == [UserMessage("and lint")]
    step = the_step(hooks.events(payload("PostToolUse", **bash("make", tool_response=""))))
    assert not step.refused


def test_a_held_command_is_no_step(hooks: CodexHooks) -> None:
    proposed = payload("PreToolUse", **bash("make"))
    hooks.events(proposed)
    held = Answer(ANSWER.reminder, hold=True)
    said = json.loads(hooks.answer(proposed, held))["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"].startswith(HEADER)
    assert hooks.events(payload("Stop", last_assistant_message="ok")) == [Finished("ok")]


def test_the_conversation_opens_is_compacted_and_goes_on(hooks: CodexHooks, tmp_path: Path) -> None:
    for source in ("startup", "resume", "clear", "compact"):
        assert hooks.events(payload("SessionStart", source=source)) == [Started(source)]  # type: ignore[arg-type]
    assert hooks.events(payload("PreCompact", trigger="auto")) == [Compacting()]
    file = tmp_path / "r"
    file.write_text(json.dumps({"type": "compacted", "payload": {"message": "we built"}}) + "\n")
    step = the_step(hooks.events(payload("PostCompact", transcript_path=str(file))))
    assert (step.kind, step.observation) == ("compaction", "we built")


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart"])
def test_a_reminder_is_context_and_a_message_for_the_human(hooks: CodexHooks, event: str) -> None:
    said = json.loads(hooks.answer(payload(event, **bash("make")), ANSWER))
    assert said["hookSpecificOutput"]["additionalContext"].startswith(f"{HEADER} make failed")
    assert said["systemMessage"].startswith(f"{HEADER} make failed")


def test_an_agent_that_stops_is_told_nothing(hooks: CodexHooks) -> None:
    assert list(json.loads(hooks.answer(payload("Stop"), ANSWER))) == ["systemMessage"]


@pytest.mark.parametrize(
    "odd",
    [
        payload("PreToolUse"),
        payload("PostToolUse", tool_name="Bash", tool_response={"a": 1}),
        payload("PostToolUse", **patched("x"), tool_response=None),
        payload("PostCompact"),
        payload("UserPromptSubmit", prompt=None),
    ],
)
def test_fields_that_are_missing_or_odd_are_no_reason_to_fail(
    hooks: CodexHooks, odd: bytes
) -> None:
    hooks.events(odd)
