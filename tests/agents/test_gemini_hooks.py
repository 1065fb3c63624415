"""Gemini CLI's payloads, in the shapes 0.61.0 sends, become events; answers may have to wait."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pmem.agents.gemini_hooks import GeminiHooks
from pmem.core.decision import HEADER, Reminder
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
from pmem.core.step import Action, Step

ANSWER = Answer(Reminder("make failed twice alike.", ("make",), "r", "c"))
HOLD = Answer(ANSWER.reminder, hold=True)


def payload(event: str, **rest: Any) -> bytes:
    return json.dumps({"session_id": "s", "cwd": "/p", "hook_event_name": event, **rest}).encode()


def shell(command: str, **given: Any) -> dict[str, Any]:
    return {"tool_name": "run_shell_command", "tool_input": {"command": command, **given}}


def ran(command: str, text: str) -> bytes:
    content = f"<untrusted_context>\n{text}\n</untrusted_context>"
    return payload("AfterTool", **shell(command), tool_response={"llmContent": content})


def the_step(events: list[Event]) -> Step:
    (event,) = events
    assert isinstance(event, Observed)
    return event.step


@pytest.fixture
def hooks() -> GeminiHooks:
    return GeminiHooks()


@pytest.mark.parametrize(
    ("text", "exit_code", "seen"),
    [
        ("Output: ok\nProcess Group PGID: 7", 0, "ok"),
        ("Output: a\nb\nExit Code: 2\nProcess Group PGID: 7", 2, "a\nb"),
        ("Output: (empty)\nSignal: 9\nProcess Group PGID: 7", 137, ""),
        ("Output: (empty)\nExit Code: 1", 1, ""),
        ("Output: Exit Code is not told\nExit Code: 3", 3, "Exit Code is not told"),
        ("Output: Exit Code: 4\nSignal: 9\nfine\nProcess Group PGID: 7", 0,
         "Exit Code: 4\nSignal: 9\nfine"),
        ("Output: x\nError: no such file\nExit Code: 1", 1, "x\nError: no such file"),
        ("Output: x\nError: y\nz\nProcess Group PGID: 7", 0, "x\nError: y\nz"),
        ("Output: x\nError: (none)\nExit Code: (none)\nSignal: (none)", None, "x"),
    ],
)  # fmt: skip
def test_output_and_exit_code_are_read_from_what_the_model_gets(
    hooks: GeminiHooks, text: str, exit_code: int | None, seen: str
) -> None:
    assert hooks.events(payload("BeforeTool", **shell("make"))) == [
        Proposed(Action("command", "make", "/p", "run_shell_command"))
    ]
    step = the_step(hooks.events(ran("make", text)))
    assert (step.kind, step.exit_code, step.observation) == ("command", exit_code, seen)


def test_a_command_moved_to_the_background_is_no_attempt(hooks: GeminiHooks) -> None:
    step = the_step(hooks.events(ran("serve", "Command moved to background (PID: 7).")))
    assert (step.kind, step.exit_code) == ("tool", None)


def test_a_commands_directory_is_the_one_it_names(hooks: GeminiHooks) -> None:
    (event,) = hooks.events(payload("BeforeTool", **shell("make", dir_path="web/../api")))
    assert isinstance(event, Proposed) and event.action.cwd == "/p/api"


@pytest.mark.parametrize(
    ("tool", "given", "kind", "text"),
    [
        ("write_file", {"file_path": "a", "content": "x"}, "edit", "write_file a\nx"),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "edit",
         "replace a\n--- old\nx\n--- new\ny"),
        ("read_file", {"file_path": "a"}, "read", "read_file a"),
        ("glob", {"pattern": "*.py"}, "read", 'glob {"pattern": "*.py"}'),
        ("mcp_db_query", {"sql": "한국어"}, "tool", 'mcp_db_query {"sql": "한국어"}'),
    ],
)  # fmt: skip
def test_every_tool_is_a_command_an_edit_a_look_up_or_another_tool(
    hooks: GeminiHooks, tool: str, given: dict[str, Any], kind: str, text: str
) -> None:
    (event,) = hooks.events(payload("BeforeTool", tool_name=tool, tool_input=given))
    assert isinstance(event, Proposed)
    assert (event.action.kind, event.action.text) == (kind, text)


def test_a_failed_edit_is_an_error(hooks: GeminiHooks) -> None:
    response = {"llmContent": "Could not find", "error": {"message": "Could not find"}}
    told = payload("AfterTool", tool_name="replace", tool_input={}, tool_response=response)
    step = the_step(hooks.events(told))
    assert (step.is_error, step.observation) == (True, "Could not find")


def test_a_call_turned_down_is_told_when_the_next_one_comes(hooks: GeminiHooks) -> None:
    hooks.events(payload("BeforeTool", **shell("git push")))
    hooks.events(payload("BeforeAgent", prompt="no, test first"))
    first, second = hooks.events(payload("BeforeTool", **shell("make test")))
    assert isinstance(first, Observed) and first.step.refused
    assert first.step.action == "git push"
    assert isinstance(second, Proposed)


def test_a_prompt_is_told_without_what_hooks_put_before_it(hooks: GeminiHooks) -> None:
    prompt = "<hook_context>a\nb</hook_context>\n\n<hook_context>c</hook_context>\n\nbuild it"
    assert hooks.events(payload("BeforeAgent", prompt=prompt)) == [UserMessage("build it")]


def test_the_conversation_opens_goes_on_and_ends(hooks: GeminiHooks) -> None:
    for source in ("startup", "resume", "clear"):
        assert hooks.events(payload("SessionStart", source=source)) == [Started(source)]  # type: ignore[arg-type]
    assert hooks.events(payload("AfterAgent", prompt_response="ok")) == [Finished("ok")]
    assert hooks.events(payload("SessionEnd", reason="clear")) == []
    assert hooks.events(payload("SessionEnd", reason="exit")) == [Ended()]


def test_only_the_users_own_compression_is_one(hooks: GeminiHooks) -> None:
    assert hooks.events(payload("PreCompress", trigger="auto")) == []
    assert hooks.events(payload("PreCompress", trigger="manual")) == [Compacting()]


def test_a_reminder_at_a_proposal_waits_for_the_next_result_and_is_told_once(
    hooks: GeminiHooks,
) -> None:
    said = json.loads(hooks.answer(payload("BeforeTool", **shell("make")), ANSWER))
    assert list(said) == ["systemMessage"]
    result = payload("AfterTool", **shell("make"))
    said = json.loads(hooks.answer(result, SILENT))["hookSpecificOutput"]
    assert said["additionalContext"].count(HEADER) == 1
    assert hooks.answer(result, SILENT) == b""


def test_a_hold_denies_with_the_reminder_and_is_no_step(hooks: GeminiHooks) -> None:
    proposed = payload("BeforeTool", **shell("make"))
    hooks.events(proposed)
    said = json.loads(hooks.answer(proposed, HOLD))
    assert said["decision"] == "deny" and said["reason"].startswith(HEADER)
    assert hooks.events(payload("AfterAgent", prompt_response="ok")) == [Finished("ok")]


@pytest.mark.parametrize("event", ["AfterTool", "BeforeAgent", "SessionStart"])
def test_a_reminder_is_context_and_a_message_for_the_human(hooks: GeminiHooks, event: str) -> None:
    said = json.loads(hooks.answer(payload(event), ANSWER))
    assert said["hookSpecificOutput"]["additionalContext"].startswith(f"{HEADER} make failed")
    assert said["systemMessage"].startswith(f"{HEADER} make failed")


@pytest.mark.parametrize("event", ["AfterAgent", "SessionEnd"])
def test_an_agent_that_stops_is_told_nothing(hooks: GeminiHooks, event: str) -> None:
    assert list(json.loads(hooks.answer(payload(event), ANSWER))) == ["systemMessage"]


@pytest.mark.parametrize(
    "odd",
    [
        payload("BeforeTool"),
        payload("BeforeTool", tool_name="run_shell_command", tool_input=[1]),
        payload("AfterTool", tool_response="text"),
        payload("AfterTool", **shell("make"), tool_response={"llmContent": [{"text": "x"}]}),
        payload("BeforeAgent", prompt=None),
    ],
)
def test_fields_that_are_missing_or_odd_are_no_reason_to_fail(
    hooks: GeminiHooks, odd: bytes
) -> None:
    hooks.events(odd)
