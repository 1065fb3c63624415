"""Commands: a shell's marks as messages to the session, one when a command is entered and one
when it is finished."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pmem.terminal.capture import Capture
from pmem.terminal.link import Link
from pmem.terminal.marks import Mark

#: Commands and paths longer than this are cut for the session.
MAX_COMMAND = 64 << 10
#: Messages whose answers are still counted as to come.
MAX_OPEN = 64


@dataclass(slots=True)
class _Running:
    """The command whose output is passing."""

    command: str
    cwd: str
    private: bool
    started: float
    began: float
    capture: Capture


class Commands:
    """Numbers the messages (`n`) and knows which of them are answered."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._running: _Running | None = None
        self._count = 0
        self._last_answer = 0
        self._sent: dict[int, float] = {}

    @property
    def newest(self) -> int:
        """The number of the newest message, 0 before the first."""
        return self._count

    def is_answered(self, number: int) -> bool:
        """Whether the session has answered this message, or a later one."""
        return number <= self._last_answer

    def output(self, piece: bytes) -> None:
        """Bytes between two marks."""
        if self._running is not None and not self._running.private:
            self._running.capture.feed(piece)

    def entered(self, mark: Mark, *, can_hold: bool) -> bool:
        """A mark C or P: tell the session. True if an answer is worth waiting for."""
        if self._running is not None:  # of pasted lines only the last one tells its end
            self._finish(None)
        private = mark.kind == "P"
        command = "" if private else mark.field(2)[:MAX_COMMAND]
        cwd = mark.field(1)
        self._running = _Running(command, cwd, private, time.time(), time.monotonic(), Capture())
        told = self._send(
            {
                "type": "entered",
                "command": command,
                "cwd": cwd,
                "private": private,
                "can_hold": can_hold,
                "confirms": can_hold,
            }
        )
        return told and not private

    def tell_held(self, number: int, held: bool) -> None:
        """What became of an answer that holds: the command waited for the person, or ran."""
        self._link.send({"type": "held", "of": number, "held": held})

    def starts(self) -> None:
        """The command that was entered starts only now: it had waited for leave."""
        if self._running is not None:
            self._running.started, self._running.began = time.time(), time.monotonic()

    def ended(self, mark: Mark, *, dropped: bool = False) -> None:
        """A mark D. Without a C before it nothing is known of the command but its end.

        `dropped`: the person did not let it run.
        """
        if self._running is None:
            now = time.time(), time.monotonic()
            self._running = _Running("", mark.field(1), True, *now, Capture())
        code = mark.field(0)
        known = code.isdecimal() and not dropped
        self._finish(int(code) if known else None, dropped=dropped)

    def prompted(self, *, dropped: bool) -> None:
        """A mark A. If a command is open still its mark D was lost, so its end is unknown."""
        if self._running is not None:
            self._finish(None, dropped=dropped)

    def answered(self, message: Mapping[str, Any]) -> float | None:
        """Take an `answer`: how many seconds it took, None if it answers nothing."""
        number = message.get("n")
        sent = self._sent.pop(number, None) if isinstance(number, int) else None
        if sent is None or not isinstance(number, int):
            return None
        self._last_answer = max(self._last_answer, number)
        return time.monotonic() - sent

    def _finish(self, exit_code: int | None, *, dropped: bool = False) -> None:
        running, self._running = self._running, None
        assert running is not None
        message = {
            "type": "finished",
            "command": running.command,
            "cwd": running.cwd,
            "exit_code": exit_code,
            "started": running.started,
            "seconds": round(time.monotonic() - running.began, 3),
            "output": "" if running.private or dropped else running.capture.text(),
            "private": running.private,
        }
        if dropped:
            message["dropped"] = True
        self._send(message)

    def _send(self, message: dict[str, Any]) -> bool:
        self._count += 1
        self._sent[self._count] = time.monotonic()
        self._sent.pop(self._count - MAX_OPEN, None)
        return self._link.send({"n": self._count, **message})
