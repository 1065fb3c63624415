"""Codex's transcript (its rollout file) as events: of a conversation that began without pmem, or is
followed.

Found by running 0.171.0: a command stands there as a completed item, with its exit code, as soon
as it has ended; a subagent has a file of its own, whose source says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pmem.agents import hook_json
from pmem.agents.excerpt import excerpt
from pmem.agents.json_object import object_in
from pmem.agents.past import Turn, read_turns
from pmem.agents.transcripts import codex
from pmem.agents.transcripts.here import HEAD, MAX_ROLLOUTS
from pmem.agents.transcripts.recorded import Recorded, Talk, seconds
from pmem.core import json_text
from pmem.core.event import Observed, UserMessage


def turns(path: str) -> Iterator[Turn]:
    """What stands in a rollout, oldest first; nothing if it cannot be read."""
    return read_turns(path, Turns())


def find_transcript(cwd: str, env: Mapping[str, str]) -> Path | None:
    """The rollout in this directory that was written last, None if there is none."""
    home = env.get("CODEX_HOME") or Path(env.get("HOME", "/")) / ".codex"
    found = []
    for path in (Path(home) / "sessions").glob("*/*/*/rollout-*.jsonl"):
        try:
            found.append((path.stat().st_mtime, str(path)))
        except OSError:
            continue
    newest = (path for _, path in sorted(found, reverse=True)[:MAX_ROLLOUTS])
    return next((Path(path) for path in newest if _begun_in(path) == cwd), None)


class Turns:
    """Reads a rollout line by line, from wherever it begins."""

    def __init__(self) -> None:
        self._recorded = Recorded("Codex")
        self._talk = Talk(self._recorded)

    def read(self, text: str) -> Iterator[Turn]:
        """The events of one line, with their time in Unix seconds; none for what is no turn."""
        if '"item_completed"' not in text and '"compacted"' not in text:
            return
        line = object_in(text)
        payload = line.get("payload")
        if not isinstance(payload, dict):
            return
        at = seconds(line.get("timestamp"))
        if line.get("type") == "compacted":
            step = hook_json.compaction(excerpt(str(payload.get("message") or "")), None)
            yield Observed(replace(step, started=at)), at
            return
        item = payload.get("item")
        if payload.get("type") == "item_completed" and isinstance(item, dict):
            codex.item(item, self._talk, self._recorded, at)
        yield from self._new(at)

    def _new(self, at: float | None) -> Iterator[Turn]:
        for step in self._recorded.steps:
            if step.kind == "user":
                yield UserMessage(step.observation), at
            elif step.kind != "message":
                seen = excerpt(step.observation)
                yield Observed(replace(step, number=0, observation=seen)), at
        self._recorded.steps.clear()


def _begun_in(path: str) -> str:
    """The directory a conversation was begun in, "" for a subagent's and where it is not known."""
    try:
        return _told_directory(path)
    except (OSError, ValueError, AttributeError):  # not cached: its first line may still come
        return ""


@lru_cache(maxsize=4 * MAX_ROLLOUTS)
def _told_directory(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123
        head = json_text.loads(file.readline(HEAD)).get("payload")
    told = head.get("cwd")
    begun = isinstance(told, str) and not isinstance(head.get("source"), dict)
    return told if begun else ""
