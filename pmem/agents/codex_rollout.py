"""What Codex leaves out of its hooks, read from the end of its transcript (the rollout file).

By the time PostToolUse runs, 0.171.0 has written the call's `item_completed` there, with exit
code, directory and times; the hook itself tells only the output.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmem.agents.excerpt import file_tail
from pmem.agents.json_object import object_in
from pmem.core.json_text import table, tables

#: How much of the end is read, in bytes: an item holds its command's output.
TAIL = 1 << 20


@dataclass(frozen=True, slots=True)
class Execution:
    """A finished command: its exit code (None if killed), directory and duration in seconds."""

    exit_code: int | None
    cwd: str | None
    seconds: float | None
    output: str


def execution(transcript: str, call_id: str) -> Execution | None:
    """The finished command with this call id, None if the transcript's end does not hold it."""
    for item in _items(transcript, call_id):
        if item.get("type") == "CommandExecution" and item.get("id") == call_id:
            took = item.get("duration")
            code = item.get("exit_code")
            return Execution(
                code if isinstance(code, int) else None,
                _path(item.get("cwd")),
                _seconds(took) if isinstance(took, dict) else None,
                str(item.get("aggregated_output") or ""),
            )
    return None


def patch_error(transcript: str) -> str:
    """What the newest patch that could not be applied was answered, "" if there is none."""
    for record in _records(transcript, "apply_patch verification failed"):
        output = record.get("output")
        for text in [output] if isinstance(output, str) else map(_text, tables(output)):
            start = text.find("apply_patch verification failed")
            if start >= 0:
                return text[start:]
    return ""


def summary(transcript: str) -> str:
    """What the newest compaction left of the conversation, "" if there was none."""
    for line in _lines(transcript, '"compacted"'):
        if line.get("type") == "compacted":
            return str(table(line.get("payload")).get("message") or "")
    return ""


def _items(transcript: str, word: str) -> Iterator[dict[str, Any]]:
    for record in _records(transcript, word):
        item = record.get("item")
        if record.get("type") == "item_completed" and isinstance(item, dict):
            yield item


def _records(transcript: str, word: str) -> Iterator[dict[str, Any]]:
    for line in _lines(transcript, word):
        payload = line.get("payload")
        if isinstance(payload, dict):
            yield payload


def _lines(transcript: str, word: str) -> Iterator[dict[str, Any]]:
    """The lines that hold the word, newest first; torn ones are skipped."""
    for line in reversed(file_tail(transcript, TAIL).split("\n")):
        if word in line and (read := object_in(line)):
            yield read


def _text(part: dict[str, Any]) -> str:
    return str(part.get("text") or "")


def _path(told: Any) -> str | None:
    if not isinstance(told, str):
        return None
    if told.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        with suppress(ValueError):  # an address that is none
            return unquote(urlsplit(told).path)
        return None
    return told if Path(told).is_absolute() else None


def _seconds(took: dict[str, Any]) -> float | None:
    secs, nanos = took.get("secs"), took.get("nanos")
    if not isinstance(secs, int) or not isinstance(nanos, int):
        return None
    return secs + nanos / 1e9
