"""The terminal's marks as events: a command entered in a shell, a command finished."""

from __future__ import annotations

from typing import Any

from pmem.core.captured import within
from pmem.core.event import SILENT, Answer, Event, Observed, Proposed
from pmem.core.step import PRIVATE, Action, Step
from pmem.session.outside import Channel
from pmem.session.session import Session

#: Where a shell waits before it runs a command, only a prohibition is put to the person: whether
#: to try a failing command once more is theirs to decide.
HELD_IN_A_SHELL = frozenset({"prohibition"})
#: The tag of an entry that keeps a prohibition.
CONSTRAINT = "constraint"


def take(session: Session, message: dict[str, Any]) -> Answer:
    """Hand one message of the link to the session; an unknown one is silence."""
    if message.get("type") == "held":
        session.voice.settle(bool(message.get("held")))
    event = to_event(message)
    if event is None:
        return SILENT
    if isinstance(event, Observed):
        event = Observed(session.guests.without_screen(event.step))
    can_hold = bool(message.get("can_hold"))
    confirms = bool(message.get("confirms"))
    return session.handle(event, Channel("shell", can_hold, HELD_IN_A_SHELL, confirms))


def prohibits(session: Session) -> bool:
    """Whether anything is forbidden here: then a shell waits longer for the answer."""
    return any(CONSTRAINT in entry.tags for entry in session.outside.bank.bank.knowledge)


def to_event(message: dict[str, Any]) -> Event | None:
    """The event of a link message, None for one that tells nothing.

    A private command is a step without its text and output; one that its user dropped at the
    gate never ran and counts as refused.
    """
    kind = message.get("type")
    # A leading blank keeps a line out here, whatever the shell's history does with it.
    private = bool(message.get("private")) or str(message.get("command", ""))[:1].isspace()
    if kind == "entered" and not private:
        return Proposed(Action("command", str(message["command"]), cwd=message.get("cwd")))
    if kind == "finished":
        return Observed(
            Step(
                0,
                "command",
                PRIVATE if private else str(message["command"]),
                "" if private else within(str(message.get("output", ""))),
                exit_code=None if private else message.get("exit_code"),
                cwd=message.get("cwd"),
                started=message.get("started"),
                seconds=message.get("seconds"),
                refused=bool(message.get("dropped")),
            )
        )
    return None
