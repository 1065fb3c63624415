"""Signals as bytes on a descriptor, so that one poll waits for everything."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType
from typing import Any

#: What the relay has to know of. SIGINT and SIGQUIT come from outside: in raw mode keys are bytes.
_WATCHED = ("WINCH", "CHLD", "TSTP", "CONT", "TERM", "HUP", "INT", "QUIT", "USR1", "USR2")


class Signals:
    """While it is entered, the watched signals only wake the poll; afterwards all is as before."""

    def __init__(self) -> None:
        self._old: dict[int, Any] = {}
        self._old_wakeup = -1
        self.fd = -1
        self._write_end = -1
        #: Set as soon as a signal came, also when a poll ended for another reason just then.
        self.pending = False

    def __enter__(self) -> Signals:
        self.fd, self._write_end = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_end, False)
        self._old_wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for name in _WATCHED:
            number = getattr(signal, f"SIG{name}")
            if signal.getsignal(number) is signal.SIG_IGN and name in ("HUP", "INT", "QUIT"):
                continue  # nohup, or a background job of a plain sh: that stays as it is
            self._old[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            with contextlib.suppress(TypeError):
                signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self.fd)
        os.close(self._write_end)

    def came(self) -> bool:
        """Whether one came. Python notes a signal when a function begins, so this is one."""
        return self.pending

    def take(self) -> set[int]:
        """The signals since the last call."""
        found: set[int] = set()
        self.pending = False
        while True:
            try:
                data = os.read(self.fd, 512)
            except (BlockingIOError, InterruptedError):
                return found
            found.update(data)
            if len(data) < 512:
                return found

    def stop_here(self) -> None:
        """Stop this process and its job as ctrl-Z does; returns when it is resumed."""
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        # Which signal it was is on the descriptor.
        self.pending = True
