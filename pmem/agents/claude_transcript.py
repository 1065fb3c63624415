"""What Claude Code's transcript tells of a conversation that began without pmem.

Its lines are told to a fresh reader of hooks as the payloads that the hooks would have had, so
that a call of the past becomes the same step as one of now. Of the file's last part only; lines
of subagents are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pmem.agents.claude_tools import plain
from pmem.agents.excerpt import excerpt, file_tail
from pmem.core.decision import HEADER
from pmem.core.event import Observed
from pmem.core.step import Step

#: How much of a transcript's end is read, in bytes.
TAIL = 24 << 20
#: What a turn of the user may begin with when nobody typed it.
NOT_TYPED = (
    *("<command-", "<local-command-", "<task-notification>", "<bash-", "<system-reminder>"),
    "[Request interrupted by user",
)
#: Beginnings of a result that a person, or a rule of theirs, gave in place of the tool.
REFUSED = ("The user doesn't want to", "Permission to use ", "Claude requested permissions to")


def past(path: str, *, but: str | None = None) -> list[Step]:
    """The steps and the user's words in a transcript, oldest first, unnumbered.

    Calls without a result, and the one whose id is `but`, are left out. Empty if the file cannot
    be read or holds no finished call.
    """
    from pmem.agents.claude_hooks import COMPACTED, ClaudeHooks

    reader = ClaudeHooks(imports=False)
    steps: list[Step] = []
    calls: dict[str, dict[str, Any]] = {}
    for line in _lines(path):
        at = _time(line.get("timestamp"))
        content = (line.get("message") or {}).get("content")
        if line["type"] == "assistant":
            for block in _blocks(content, "tool_use"):
                call = {
                    "tool_name": block.get("name"),
                    "tool_input": block.get("input"),
                    "tool_use_id": block.get("id"),
                    "cwd": line.get("cwd"),
                }
                calls[str(block.get("id"))] = {**call, "at": at}
            continue
        if line.get("isCompactSummary"):
            steps.append(Step(0, "compaction", COMPACTED, excerpt(_text(content)), started=at))
            continue
        for block in _blocks(content, "tool_result"):
            proposed = calls.pop(str(block.get("tool_use_id")), None)
            if proposed is not None and proposed["tool_use_id"] != but:
                steps += _ended(reader, proposed, block, line, at)
        words = _text(content).strip()
        if words and not line.get("isMeta") and not words.startswith(NOT_TYPED):
            steps.append(Step(0, "user", "", words, started=at))
    return steps if any(step.kind not in ("user", "compaction") for step in steps) else []


def _ended(
    reader: Any,
    call: Mapping[str, Any],
    block: Mapping[str, Any],
    line: Mapping[str, Any],
    at: float | None,
) -> Iterator[Step]:
    """The step of a finished call, none for one that pmem itself put back."""
    began = call["at"]
    told = {key: value for key, value in call.items() if key != "at"}
    text = plain(block.get("content"))
    failed = block.get("is_error") is True
    if failed and HEADER in text:
        return
    reader.events(json.dumps({**told, "hook_event_name": "PreToolUse"}).encode())
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
    for event in reader.events(json.dumps(told).encode()):
        if isinstance(event, Observed):
            refused = event.step.refused or (failed and text.startswith(REFUSED))
            yield replace(event.step, started=began, refused=refused)


def _lines(path: str) -> Iterator[dict[str, Any]]:
    """The turns of the main conversation; torn and foreign lines are skipped."""
    for text in file_tail(path, TAIL).split("\n"):
        if '"type":"user"' not in text and '"type":"assistant"' not in text:
            continue
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if (
            isinstance(line, dict)
            and line.get("type") in ("user", "assistant")
            and not line.get("isSidechain")
            and isinstance(line.get("message"), dict)
        ):
            yield line


def _blocks(content: Any, kind: str) -> list[dict[str, Any]]:
    blocks = content if isinstance(content, list) else []
    return [b for b in blocks if isinstance(b, dict) and b.get("type") == kind]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text") or "") for block in _blocks(content, "text"))


def _time(told: Any) -> float | None:
    """Unix seconds of an ISO time."""
    try:
        return datetime.fromisoformat(str(told)).timestamp()
    except ValueError:
        return None
