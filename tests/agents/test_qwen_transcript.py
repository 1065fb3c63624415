"""A conversation of Qwen Code read from its chat, by shapes seen in 0.24.4."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.past import before
from pmem.agents.qwen_hooks import QwenHooks
from pmem.agents.qwen_transcript import find_transcript, turns
from pmem.core.event import Started, UserMessage
from pmem.core.step import Step

CWD = "/home/kim/shop"
FAILED = (
    "Command: make\nDirectory: (root)\nOutput: db.h is missing\nError: (none)\n"
    "Exit Code: 2\nSignal: (none)\nProcess Group PGID: (none)"
)


def row(kind: str, *parts: Any, **more: Any) -> dict[str, Any]:
    at = "2026-11-30T15:00:00.500Z"
    return {"type": kind, "timestamp": at, "cwd": CWD, "message": {"parts": list(parts)}, **more}


def called(id: str, command: str) -> dict[str, Any]:
    call = {"id": id, "name": "run_shell_command", "args": {"command": command}}
    return row("assistant", {"text": "Running it."}, {"functionCall": call})


def answered(id: str, text: str, status: str = "success") -> dict[str, Any]:
    key = "output" if status == "success" else "error"
    answer = {"functionResponse": {"id": id, "response": {key: text}}}
    return row("tool_result", answer, toolCallResult={"callId": id, "status": status})


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    return tmp_path / "chat.jsonl"


def write(chat: Path, *lines: Any) -> str:
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    chat.write_text("\n".join(text) + "\n", "utf-8")
    return str(chat)


def past(path: str) -> list[Step]:
    return before(turns(path))


def test_calls_become_steps_and_only_the_users_own_words_a_message(chat: Path) -> None:
    held = 'blocked: "[MEMORY REMINDER] …"'
    steps = past(
        write(
            chat,
            row("user", {"text": "build it"}, provenance="real_user"),
            row("user", {"text": "a notification"}, provenance="system"),
            *(called("1", "make"), answered("1", FAILED, "error")),
            *(called("2", "rm x"), answered("2", "[Operation Cancelled]", "cancelled")),
            *(called("3", "make"), answered("3", held, "error"), called("4", "never answered")),
            *({"type": "system", "subtype": "chat_compression"}, '{"type": torn'),
        )
    )
    assert [(s.kind, s.action, s.exit_code, s.refused) for s in steps[:3]] == [
        ("user", "", None, False),
        ("command", "make", 2, False),
        ("command", "rm x", None, True),
    ]
    assert [s.kind for s in steps[3:]] == ["compaction"]
    make = steps[1]
    assert (make.observation, make.cwd, make.call_id) == ("db.h is missing", CWD, "1")
    assert make.started == 1796050800.5


def test_without_turns_there_is_no_past(chat: Path) -> None:
    assert past(write(chat)) == past(write(chat, "nonsense", [1])) == []
    assert past(str(chat) + ".gone") == []


def test_a_resumed_conversation_tells_its_past_once(chat: Path) -> None:
    path = write(chat, called("1", "make"), answered("1", FAILED, "error"))
    common = {"session_id": "s", "transcript_path": path, "cwd": CWD}
    hooks = QwenHooks()

    def told(event: str, **more: Any) -> Any:
        return hooks.events(json.dumps({**common, "hook_event_name": event, **more}).encode())

    [began] = told("SessionStart", source="resume")
    assert isinstance(began, Started) and [step.call_id for step in began.past] == ["1"]
    assert told("UserPromptSubmit", prompt="go on") == [UserMessage("go on")]
    late = {"tool_name": "run_shell_command", "tool_input": {"command": "make"}}
    assert told("PostToolUseFailure", tool_call_id="1", error=FAILED, **late) == []


def test_a_directorys_newest_chat_is_found(tmp_path: Path) -> None:
    place = tmp_path / ".qwen" / "projects" / "-home-kim-my-shop" / "chats"
    place.mkdir(parents=True)
    for age, name in enumerate(("new", "old")):
        write(place / f"{name}.jsonl", row("user", {"text": "x"}))
        os.utime(place / f"{name}.jsonl", (1000 - age, 1000 - age))
    env = {"HOME": str(tmp_path)}
    assert find_transcript("/home/kim/my_shop", env) == place / "new.jsonl"
    assert find_transcript("/home/kim", env) is None
