"""JSON of another shape than any agent's: read as far as it goes, or refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_transcripts import FORMATS

from pmem.agents.claude_transcript import Turns as ClaudeTurns
from pmem.agents.codex_transcript import Turns as CodexTurns
from pmem.agents.gemini_transcript import Turns as GeminiTurns
from pmem.agents.registry import Adapters
from pmem.agents.transcripts.read import read
from pmem.core.event import Answer

ODD = (None, 7, True, "x", [], ["x"], [{}], {"a": 1})
TURNS = {"Claude Code": ClaudeTurns, "Codex": CodexTurns, "Gemini CLI": GeminiTurns}
#: What the hooks of one form or another tell of themselves, all in one.
TOLD: dict[str, Any] = {
    **{"session_id": "s", "sessionId": "s", "session": "s", "cwd": "/p", "agent_id": "a"},
    **{"agentId": "a", "tool_use_id": "t", "id": "t", "transcript_path": "/nothing"},
    **{"tool_name": "run_shell_command", "toolName": "bash", "tool": "bash"},
    **{"tool_input": {"command": "make"}, "toolArgs": {"command": "make"}, "source": "resume"},
    **{"tool_response": {"llmContent": "Output: x"}, "toolResult": {"textResultForLlm": "x"}},
    **{"tool_calls": [{"tool_use_id": "u", "status": "error"}], "error": "x", "prompt": "go on"},
}
EVENTS = {
    "claude": ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SessionStart"),
    "codex": ("PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop"),
    "gemini": ("BeforeTool", "AfterTool", "BeforeAgent", "SessionStart"),
    "qwen": ("PreToolUse", "PostToolUse", "PostToolBatch", "UserPromptSubmit", "SessionStart"),
    "copilot": ("preToolUse", "postToolUse", "postToolUseFailure", "agentStop"),
    "opencode": ("started", "proposed", "observed", "compacted", "finished"),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a document."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


def bent(document: Any) -> Iterator[Any]:
    """The document with something odd in each of its places."""
    for *path, last in places(document):
        for odd in ODD:
            copy = json.loads(json.dumps(document))
            holder = copy
            for key in path:
                holder = holder[key]
            holder[last] = odd
            yield copy


def documents(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_another_shape_is_read_or_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    whole = documents(FORMATS[name]())
    for odd in bent(whole):
        file.write_text("\n".join(json.dumps(one, separators=(",", ":")) for one in odd))
        try:
            assert read(file).lines
        except ValueError as error:
            assert str(file) in str(error)


@pytest.mark.parametrize("name", TURNS)
def test_a_followed_transcript_of_another_shape_is_passed_over(name: str) -> None:
    for odd in bent(documents(FORMATS[name]())):
        turns = TURNS[name]()
        for line in odd:
            list(turns.read(json.dumps(line, separators=(",", ":"))))


@pytest.mark.parametrize("agent", EVENTS)
def test_a_hooks_payload_of_another_shape_is_events_or_a_value_error(agent: str) -> None:
    for odd in bent(TOLD):
        adapter = type(Adapters()[agent])()
        for event in EVENTS[agent]:
            said = {**odd, "event": event, "hook_event_name": event}
            payload = json.dumps({"event": event, "payload": odd} if agent == "copilot" else said)
            for told in adapter.events(payload.encode()):
                hash(getattr(told, "agent_id", None))  # the session keeps its lanes by it
            adapter.answer(payload.encode(), Answer())


def test_a_line_that_is_nested_too_deeply_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "steps.jsonl"
    file.write_text(FORMATS["pmem"]() + "[" * 200_000 + "\n")
    recorded = read(file)
    assert len(recorded.steps) == 3
    assert "is broken and was left out" in recorded.remarks[0]
