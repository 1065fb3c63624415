"""A conversation of Gemini CLI read from its chat, by shapes seen in 0.61.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.gemini_hooks import GeminiHooks
from pmem.agents.gemini_transcript import turns
from pmem.agents.past import before
from pmem.core.event import Observed, Started, UserMessage
from pmem.core.step import Step

CWD = "/home/kim/shop"
FAILED = "<untrusted_context>\nOutput: db.h is missing\nExit Code: 2\n</untrusted_context>"
HEAD = {"sessionId": "s", "projectHash": "h", "kind": "main"}


def said(id: str, text: str) -> dict[str, Any]:
    at = "2026-11-30T15:00:00.500Z"
    return {"id": id, "timestamp": at, "type": "user", "content": [{"text": text}]}


def called(id: str, command: str, output: str = "", status: str = "success") -> dict[str, Any]:
    key = "output" if status == "success" else "error"
    answer = [{"functionResponse": {"id": id, "response": {key: output}}}] if output else []
    call = {"id": id, "name": "run_shell_command", "args": {"command": command}, "result": answer}
    call |= {"status": status, "timestamp": "2026-11-30T15:00:02Z"}
    return {"id": f"m{id}", "type": "gemini", "content": "Running.", "toolCalls": [call]}


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    place = tmp_path / "tmp" / "shop" / "chats"
    place.mkdir(parents=True)
    (place.parent / ".project_root").write_text(CWD)
    return place / "session-1.jsonl"


def write(chat: Path, *lines: Any) -> str:
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    chat.write_text("\n".join(text) + "\n", "utf-8")
    return str(chat)


def past(path: str) -> list[Step]:
    return before(turns(path))


def test_messages_that_are_written_again_are_told_once(chat: Path) -> None:
    begun = said("0", "<session_context>\nThis is the Gemini CLI.")
    lines = [said("1", "<hook_context>x</hook_context>\n\nbuild it"), called("2", "make", FAILED)]
    steps = past(
        write(
            chat,
            *(HEAD, {"$set": {"messages": [begun]}}, lines[0], called("2", "make"), lines[1]),
            *({"$set": {"lastUpdated": "now"}}, HEAD, {"$set": {"messages": [begun, *lines]}}),
            called("3", "ls", "<untrusted_context>\nOutput: a\n</untrusted_context>"),
            '{"id": "4", torn',
        )
    )
    assert [(s.kind, s.action or s.observation, s.exit_code, s.cwd) for s in steps] == [
        ("user", "build it", None, None),
        ("command", "make", 2, CWD),
        ("command", "ls", 0, CWD),
    ]
    assert (steps[1].observation, steps[1].started) == ("db.h is missing", 1796050802.0)


def test_refused_held_and_unfinished_calls(chat: Path) -> None:
    held = "Tool execution blocked: [MEMORY REMINDER] …"
    steps = past(
        write(
            chat,
            *(HEAD, called("1", "rm -r x", "[Operation Cancelled]", "cancelled")),
            *(called("2", "make", held, "error"), called("3", "never answered")),
        )
    )
    assert [(s.action, s.refused) for s in steps] == [("rm -r x", True)]


def test_without_messages_there_is_no_past(chat: Path) -> None:
    assert past(write(chat)) == past(write(chat, "nonsense", HEAD, [1])) == []
    assert past(str(chat) + ".gone") == []


def test_a_call_has_the_same_id_in_the_chat_and_by_its_hook(chat: Path) -> None:
    path = write(chat, HEAD, said("1", "build"), *(called(id, "make", FAILED) for id in "23"))
    common = {"session_id": "s", "transcript_path": path, "cwd": CWD}
    made = {"tool_name": "run_shell_command", "tool_input": {"command": "make"}}
    answer = {"tool_response": {"llmContent": FAILED}}

    def told(hooks: GeminiHooks, event: str, **more: Any) -> Any:
        return hooks.events(json.dumps({**common, "hook_event_name": event, **more}).encode())

    hooks = GeminiHooks()
    [began] = told(hooks, "SessionStart", source="resume")
    assert isinstance(began, Started) and len(began.past) == 3
    assert told(hooks, "BeforeAgent", prompt="go on") == [UserMessage("go on")]
    [third] = told(hooks, "AfterTool", **made, **answer)
    lone = GeminiHooks(imports=False)
    live = [told(lone, "AfterTool", **made, **answer)[0] for _ in range(3)]
    assert isinstance(third, Observed)
    ids = [step.call_id for step in began.past[1:]] + [third.step.call_id]
    assert ids == [event.step.call_id for event in live] and len(set(ids)) == 3


def test_a_resumption_that_names_a_new_chat_is_caught_up_with_at_the_next_event(chat: Path) -> None:
    context = said("0", "<session_context>\nThis is the Gemini CLI.")
    new = chat.with_name("session-2.jsonl")
    write(new, HEAD, {"$set": {"messages": [context]}})
    write(chat, HEAD, said("1", "build"), called("2", "make", FAILED))
    hooks = GeminiHooks()

    def told(event: str, file: Path, **more: Any) -> Any:
        common = {"session_id": "s", "transcript_path": str(file), "cwd": CWD}
        return hooks.events(json.dumps({**common, "hook_event_name": event, **more}).encode())

    assert told("SessionStart", new, source="resume") == [Started("resume", None, ())]
    began, words = told("BeforeAgent", chat, prompt="go on")
    assert [step.kind for step in began.past] == ["user", "command"]
    assert words == UserMessage("go on")
    assert told("BeforeAgent", chat, prompt="and on") == [UserMessage("and on")]


def test_an_empty_conversation_that_is_resumed_has_no_past_either(chat: Path) -> None:
    hooks = GeminiHooks()
    common = {"session_id": "s", "transcript_path": write(chat, HEAD), "cwd": CWD}

    def told(event: str, **more: Any) -> Any:
        return hooks.events(json.dumps({**common, "hook_event_name": event, **more}).encode())

    assert told("SessionStart", source="resume") == [Started("resume", None, ())]
    assert told("BeforeAgent", prompt="build") == [UserMessage("build")]
    write(chat, HEAD, said("1", "build"), called("2", "make", FAILED))
    assert told("BeforeAgent", prompt="go on") == [UserMessage("go on")]
