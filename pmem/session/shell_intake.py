"""The terminal's marks as events: a command entered in a shell, a command finished."""

from __future__ import annotations

from typing import Any

from pmem.core.event import SILENT, Answer, Event, Observed, Proposed
from pmem.core.step import PRIVATE, Action, Step
from pmem.session.outside import Channel
from pmem.session.session import Session

#: Where a shell waits before it runs a command, only a prohibition is put to the person: whether
#: to try a failing command once more is theirs to decide.
HELD_IN_A_SHELL = frozenset({"prohibition"})


def take(session: Session, message: dict[str, Any]) -> Answer:
    """Hand one message of the link to the session; an unknown one is silence."""
    event = to_event(message)
    if event is None:
        return SILENT
    if isinstance(event, Observed):
        event = Observed(session.guests.without_screen(event.step))
    can_hold = bool(message.get("can_hold"))
    return session.handle(event, Channel("shell", can_hold, HELD_IN_A_SHELL))


def to_event(message: dict[str, Any]) -> Event | None:
    """The event of a link message, None for one that tells nothing.

    A private command is a step without its text and output; one that its user dropped at the
    gate never ran and counts as refused.
    """
    kind = message.get("type")
    private = bool(message.get("private"))
    if kind == "entered" and not private:
        return Proposed(Action("command", str(message["command"]), cwd=message.get("cwd")))
    if kind == "finished":
        return Observed(
            Step(
                0,
                "command",
                PRIVATE if private else str(message["command"]),
                "" if private else str(message.get("output", "")),
                exit_code=None if private else message.get("exit_code"),
                cwd=message.get("cwd"),
                started=message.get("started"),
                seconds=message.get("seconds"),
                refused=bool(message.get("dropped")),
            )
        )
    return None
