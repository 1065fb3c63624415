"""What happened in a conversation before pmem was there: read once, from the agent's transcript.

A conversation that is resumed, or that is joined in the middle, is caught up with at its first
event; what that event tells itself is no part of its past.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pmem.agents.excerpt import file_tail
from pmem.core.event import Event, Observed, Proposed, UserMessage
from pmem.core.step import Step

#: Words of the user this old (seconds) may be those that an event tells right now.
JUST_NOW = 15.0
#: Of a longer conversation only so many of its last steps are taken in: hooks wait meanwhile.
LONGEST = 1000
#: How much of a transcript's end is read, in bytes.
TAIL = 24 << 20
#: An event of a conversation, with its time in Unix seconds.
Turn = tuple[Event, float | None]


def before(
    turns: Iterable[Turn], *, until: str | None = None, prompt: str | None = None
) -> list[Step]:
    """The steps and the user's words among these turns, oldest first, unnumbered.

    Only what came before the call with the id `until`, or before the newest `prompt` of these
    words: what follows is told by events of its own.
    """
    steps: list[Step] = []
    for event, at in turns:
        if isinstance(event, Proposed) and until and event.action.call_id == until:
            return steps
        if isinstance(event, Observed):
            if until and event.step.call_id == until:
                return steps
            steps.append(event.step)
        elif isinstance(event, UserMessage):
            steps.append(Step(0, "user", "", event.text, started=at))
    words = (prompt or "").strip()
    for n, step in enumerate(steps):
        new = time.time() - (step.started or 0.0) < JUST_NOW
        if words and new and step.kind == "user" and step.observation.strip() == words:
            return steps[:n]
    return steps


def newest(folder: Path) -> Path | None:
    """The transcript in a folder that was written last, None if there is none."""
    try:
        return max(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime, default=None)
    except OSError:
        return None


class Lines(Protocol):
    """Reads a transcript line by line."""

    def read(self, text: str) -> Iterator[Turn]:
        """What one line tells; nothing where it is no turn."""
        ...


def read_turns(path: str, lines: Lines) -> Iterator[Turn]:
    """What stands at the end of a transcript, oldest first; nothing if it cannot be read."""
    for line in file_tail(path, TAIL).split("\n"):
        yield from lines.read(line)


class Past:
    """Which conversations of one agent are known by now.

    `reader` names the module beside this one whose `turns` reads the file that an event names as
    its transcript: it reads by the agent's hooks, so it comes in when there is something to read.
    None: nobody asks for a past.
    """

    def __init__(self, reader: str | None) -> None:
        self._reader = reader
        self._known: set[str] = set()
        self._calls: set[str] = set()

    def of(self, said: Mapping[str, Any]) -> tuple[Step, ...]:
        """What happened in the conversation before this, its first event; () for a later one.

        `said` is the payload of a hook of Claude Code's form. A resumption whose transcript tells
        nothing leaves the past to the event after it: the agent may not have opened that file yet.
        """
        if self._reader is None:
            return ()
        conversation = str(said.get("session_id") or "")
        if conversation in self._known or said.get("agent_id"):  # a subagent has a past of its own
            return ()
        self._known.add(conversation)
        transcript = said.get("transcript_path")
        if not isinstance(transcript, str) or said.get("source") == "clear":
            return ()
        turns = import_module(f"pmem.agents.{self._reader}").turns
        prompt = said.get("prompt")
        steps = before(
            turns(transcript),
            until=said.get("tool_use_id"),
            prompt=prompt if isinstance(prompt, str) else None,
        )
        tells = said.get("hook_event_name") == "PostCompact" or said.get("source") == "compact"
        if tells and steps and steps[-1].kind == "compaction":
            steps.pop()  # its own event tells of it
        if not steps and said.get("source") == "resume":
            self._known.remove(conversation)
        self._calls = {step.call_id for step in steps if step.call_id}
        return tuple(steps[-LONGEST:])

    def holds(self, call_id: object) -> bool:
        """Whether this call was told with the past: its own event comes late."""
        return call_id in self._calls
