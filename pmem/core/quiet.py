"""Quiet: what a person does not want to hear, for now or ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pmem.core.decision import Reminder


@dataclass(frozen=True, slots=True)
class Quiet:
    """Muted entries (by id), muted sessions (by id), and the causes that were told to be noise."""

    entries: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()

    def refuses(self, reminder: Reminder, session: str) -> str:
        """Why a reminder is not wanted in this session, "" if nobody said so."""
        if session in self.sessions:
            return "the user muted this session"
        if base(reminder.cause) in self.causes:
            return "the user said that it is noise"
        muted = next((id for id in reminder.entries if id in self.entries), None)
        return f"the user muted {muted}" if muted is not None else ""


def read(records: Iterable[Mapping[str, Any]]) -> Quiet:
    """What stands after all records, oldest first; one that cannot be read changes nothing.

    A record is `{"mute": KIND, "name": …}` or `{"unmute": KIND, "name": …}`, KIND being `entry`,
    `session` or `cause`.
    """
    named: dict[str, set[str]] = {"entry": set(), "session": set(), "cause": set()}
    for record in records:
        name = record.get("name")
        if not isinstance(name, str):
            continue
        if record.get("mute") in named:
            named[record["mute"]].add(name)
        elif record.get("unmute") in named:
            named[record["unmute"]].discard(name)
    return Quiet(*(frozenset(named[kind]) for kind in ("entry", "session", "cause")))


def base(cause: str) -> str:
    """A cause without the count of a watch that is told several times (`watch:ID#2`)."""
    head, mark, count = cause.rpartition("#")
    return head if mark and count.isdecimal() and cause.startswith("watch:") else cause
