"""The terminal's marks as events: a command entered in a shell, a command finished."""

from __future__ import annotations

from typing import Any

from pmem.core.event import SILENT, Answer, Event, Observed, Proposed
from pmem.core.step import PRIVATE, Action, Step
from pmem.session.session import Channel, Session

#: A banner in a shell cannot put a command back: when the mark arrives it has started.
SHELL = Channel("shell")


class ShellIntake:
    """Hands the shell's commands to the session."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def handle(self, message: dict[str, Any]) -> Answer:
        """One message of the link; an unknown one is silence."""
        event = to_event(message)
        return SILENT if event is None else self.session.handle(event, SHELL)


def to_event(message: dict[str, Any]) -> Event | None:
    """The event of a link message, None for one that tells nothing.

    A private command is a step without its text and output.
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
            )
        )
    return None
