"""A conversation of Claude Code read from its transcript."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.claude_hooks import ClaudeHooks
from pmem.agents.claude_transcript import find_transcript, turns
from pmem.agents.past import before
from pmem.core.event import Observed, Proposed, Started, UserMessage
from pmem.core.step import Step

CWD = "/home/kim/shop"


def past(path: str) -> list[Step]:
    return before(turns(path))


def said(text: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **row(), **more}


def called(id: str, command: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "Running."}, block]}
    return {"type": "assistant", "message": message, **row(), **more}


def answered(id: str, text: str, error: bool = False, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": error}
    told = f"Error: {text}" if error else {"stdout": text, "stderr": "", "interrupted": False}
    return said([block], **{"toolUseResult": told, "timestamp": "2026-11-30T15:00:02Z", **more})


def row() -> dict[str, Any]:
    return {"isSidechain": False, "cwd": CWD, "timestamp": "2026-11-30T15:00:00.500Z"}


def write(path: Path, *lines: Any) -> str:
    text = [
        line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines
    ]
    path.write_text("\n".join(text) + "\n", "utf-8")
    return str(path)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def test_calls_become_steps_with_exit_codes_and_times(transcript: Path) -> None:
    steps = past(
        write(
            transcript,
            said("make it build"),
            called("1", "make build"),
            answered("1", "Exit code 2\nmain.c:3: error", error=True),
            called("2", "ls"),
            answered("2", "main.c"),
        )
    )
    assert [(s.kind, s.action, s.exit_code) for s in steps] == [
        ("user", "", None),
        ("command", "make build", 2),
        ("command", "ls", 0),
    ]
    build = steps[1]
    assert (build.observation, build.cwd, build.call_id) == ("main.c:3: error", CWD, "1")
    assert (build.seconds, build.started) == (1.5, 1796050800.5)


def test_what_nobody_typed_is_no_message_of_the_user(transcript: Path) -> None:
    steps = past(
        write(
            transcript,
            said("Caveat", isMeta=True),
            said("<command-name>/compact</command-name>"),
            said("[Request interrupted by user]"),
            said([{"type": "text", "text": "look at this"}, {"type": "image"}]),
            called("1", "ls"),
            answered("1", ""),
            said("This session is being continued …", isCompactSummary=True),
        )
    )
    assert [s.kind for s in steps] == ["user", "command", "compaction"]
    assert steps[0].observation == "look at this"


def test_refused_held_unfinished_and_foreign_calls(transcript: Path) -> None:
    steps = past(
        write(
            transcript,
            called("1", "rm -r x"),
            answered("1", "The user doesn't want to proceed with this tool use.", error=True),
            called("2", "make"),
            answered("2", "PreToolUse:Bash hook error: [MEMORY REMINDER] …", error=True),
            called("3", "sub", isSidechain=True),
            answered("3", "", isSidechain=True),
            called("4", "never answered"),
            answered("5", "never asked"),
            '{"type":"user", torn',
            '"a string with \\"type\\":\\"user\\" in it"',
        )
    )
    assert [(s.action, s.refused) for s in steps] == [("rm -r x", True)]


def test_without_turns_there_is_no_past(transcript: Path) -> None:
    assert past(write(transcript)) == past(write(transcript, "nonsense")) == []
    assert past(str(transcript) + ".gone") == []


def test_a_directorys_newest_conversation_is_found(tmp_path: Path) -> None:
    place = tmp_path / ".claude" / "projects" / "-home-kim-my-shop"
    place.mkdir(parents=True)
    for age, name in enumerate(("new", "old")):
        write(place / f"{name}.jsonl", said("x"))
        os.utime(place / f"{name}.jsonl", (1000 - age, 1000 - age))
    env = {"HOME": str(tmp_path)}
    assert find_transcript("/home/kim/my_shop", env) == place / "new.jsonl"
    assert find_transcript("/home/kim", env) is None
    assert find_transcript("/home/kim/my.shop", {"CLAUDE_CONFIG_DIR": f"{tmp_path}/.claude"})


def hook(event: str, transcript: str, **more: Any) -> bytes:
    said = {"session_id": "s", "transcript_path": transcript, "cwd": CWD, "hook_event_name": event}
    return json.dumps({**said, **more}).encode()


def test_a_resumed_conversation_tells_its_past_once(transcript: Path) -> None:
    path = write(transcript, said("build"), called("1", "make"), answered("1", "ok"))
    hooks = ClaudeHooks()
    [began] = hooks.events(hook("SessionStart", path, source="resume"))
    assert isinstance(began, Started) and began.how == "resume" and len(began.past) == 2
    again = hooks.events(hook("SessionStart", path, source="resume"))
    assert again == [Started("resume")]
    assert hooks.events(hook("UserPromptSubmit", path, prompt="go on")) == [UserMessage("go on")]


def test_joined_in_the_middle_the_past_comes_first_and_the_event_is_no_part_of_it(
    transcript: Path,
) -> None:
    path = write(
        transcript,
        *(said("build"), called("1", "make"), answered("1", "ok"), called("2", "ls")),
        answered("2", "x"),
    )
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "2"}
    began, ended = ClaudeHooks().events(
        hook("PostToolUse", path, **call, tool_response={"stdout": "x"})
    )
    assert isinstance(began, Started) and [s.call_id for s in began.past] == [None, "1"]
    assert isinstance(ended, Observed) and ended.step.call_id == "2"


def test_a_prompt_that_stands_in_the_transcript_already_is_told_once(transcript: Path) -> None:
    now = datetime.now(UTC).isoformat()
    path = write(
        transcript,
        *(said("go on"), called("1", "make"), answered("1", "ok"), said("go on", timestamp=now)),
        *(called("2", "ls"), answered("2", "what its own event will tell")),
    )
    began, message = ClaudeHooks().events(hook("UserPromptSubmit", path, prompt="go on"))
    assert isinstance(began, Started) and [s.kind for s in began.past] == ["user", "command"]
    assert message == UserMessage("go on")


def test_calls_of_the_past_are_not_told_again_by_late_events(transcript: Path) -> None:
    path = write(transcript, said("build"), called("1", "make"), answered("1", "ok"))
    hooks = ClaudeHooks()
    call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "1"}
    hooks.events(hook("SessionStart", path, source="resume"))
    assert hooks.events(hook("PreToolUse", path, **call)) == []
    assert hooks.events(hook("PostToolUse", path, **call, tool_response={"stdout": ""})) == []


def test_a_new_and_a_cleared_conversation_have_no_past(transcript: Path) -> None:
    path = write(transcript, called("1", "make"), answered("1", "ok"))
    gone = str(transcript) + ".gone"
    new = ClaudeHooks().events(hook("UserPromptSubmit", gone, prompt="go"))
    assert new == [UserMessage("go")]
    hooks = ClaudeHooks()
    assert hooks.events(hook("SessionStart", path, source="clear")) == [Started("clear")]
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "2"}
    [proposed] = hooks.events(hook("PreToolUse", path, **call))
    assert isinstance(proposed, Proposed)
