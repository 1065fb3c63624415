"""Claude Code's transcript as events: of a conversation that began without pmem, or is followed.

Its lines are told to a fresh reader of hooks as the payloads that the hooks would have had, so
that a call becomes the same step either way. Lines of subagents are passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmem.agents import hook_json
from pmem.agents.claude_hooks import ClaudeHooks
from pmem.agents.claude_tools import plain
from pmem.agents.excerpt import excerpt
from pmem.agents.json_object import object_in
from pmem.agents.past import Turn, newest, read_turns
from pmem.agents.transcripts.recorded import seconds
from pmem.core.decision import HEADER
from pmem.core.event import Event, Observed, UserMessage

#: What a turn of the user may begin with when nobody typed it.
NOT_TYPED = (
    *("<command-", "<local-command-", "<task-notification>", "<bash-", "<system-reminder>"),
    "[Request interrupted by user",
)
#: Beginnings of a result that a person, or a rule of theirs, gave in place of the tool.
REFUSED = ("The user doesn't want to", "Permission to use ", "Claude requested permissions to")


def turns(path: str) -> Iterator[Turn]:
    """What stands in a transcript, oldest first; nothing if it cannot be read.

    Calls without a result have no step.
    """
    return read_turns(path, Turns())


def find_transcript(cwd: str, env: Mapping[str, str]) -> Path | None:
    """The newest conversation that was begun in a directory, None if there is none."""
    own = env.get("CLAUDE_CONFIG_DIR") or Path(env.get("HOME", "/")) / ".claude"
    return newest(Path(own) / "projects" / re.sub(r"[^A-Za-z0-9]", "-", cwd))


class Turns:
    """Reads a transcript line by line, from wherever it begins."""

    def __init__(self) -> None:
        self._hooks = ClaudeHooks(imports=False)
        self._calls: dict[str, dict[str, Any]] = {}

    def read(self, text: str) -> Iterator[Turn]:
        """The events of one line, with their time in Unix seconds; none for what is no turn."""
        line = _turn(text)
        if line is None:
            return
        at = seconds(line.get("timestamp"))
        content = line["message"].get("content")
        if line["type"] == "assistant":
            for block in _blocks(content, "tool_use"):
                for event in self._proposed(block, line, at):
                    yield event, at
            return
        if line.get("isCompactSummary"):
            step = hook_json.compaction(excerpt(_text(content)), None)
            yield Observed(replace(step, started=at)), at
            return
        for block in _blocks(content, "tool_result"):
            for event in self._ended(block, line, at):
                yield event, at
        words = _text(content).strip()
        if words and not line.get("isMeta") and not words.startswith(NOT_TYPED):
            yield UserMessage(words), at

    def _proposed(
        self, block: Mapping[str, Any], line: Mapping[str, Any], at: float | None
    ) -> list[Event]:
        call = {
            "tool_name": block.get("name"),
            "tool_input": block.get("input"),
            "tool_use_id": block.get("id"),
            "cwd": line.get("cwd"),
        }
        self._calls[str(block.get("id"))] = {**call, "at": at}
        return self._hooks.events(json.dumps({**call, "hook_event_name": "PreToolUse"}).encode())

    def _ended(
        self, block: Mapping[str, Any], line: Mapping[str, Any], at: float | None
    ) -> Iterator[Event]:
        """The step of a finished call, none for one that pmem itself put back."""
        told = self._calls.pop(str(block.get("tool_use_id")), None)
        text = plain(block.get("content"))
        failed = block.get("is_error") is True
        if told is None or (failed and HEADER in text):
            return
        began = told.pop("at")
        if began is not None and at is not None:
            told["duration_ms"] = max(at - began, 0.0) * 1000
        if failed:
            told |= {"hook_event_name": "PostToolUseFailure", "error": text}
        else:
            response = line.get("toolUseResult")
            told |= {
                "hook_event_name": "PostToolUse",
                "tool_response": response if isinstance(response, dict | list) else text,
            }
        for event in self._hooks.events(json.dumps(told).encode()):
            if isinstance(event, Observed):
                refused = event.step.refused or (failed and text.startswith(REFUSED))
                yield Observed(replace(event.step, started=began, refused=refused))


def _turn(text: str) -> dict[str, Any] | None:
    """A turn of the main conversation; None for a torn line and for any other."""
    if '"type":"user"' not in text and '"type":"assistant"' not in text:
        return None
    line = object_in(text)
    known = (
        line.get("type") in ("user", "assistant")
        and not line.get("isSidechain")
        and isinstance(line.get("message"), dict)
    )
    return line if known else None


def _blocks(content: Any, kind: str) -> list[dict[str, Any]]:
    blocks = content if isinstance(content, list) else []
    return [b for b in blocks if isinstance(b, dict) and b.get("type") == kind]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text") or "") for block in _blocks(content, "text"))
