"""Beside: work that no answer may wait for: done in a thread, which tells the loop at its end."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable

#: Seconds after which a thread that computes lets another one in that was woken for an answer.
#: Python's own 5 ms, spent at each of the ten or so system calls of an answer, would be felt.
SWITCH = 0.0001


class Beside:
    """Does one piece of work at a time; can be read when it is done."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def fileno(self) -> int:
        """Can be read when a piece of work was done."""
        return self._read

    def do(self, work: Callable[[], None]) -> None:
        """Begin with it, and return at once; where there are no threads, when it is done."""
        try:
            threading.Thread(target=self._run, args=(work,), name="beside", daemon=True).start()
        except RuntimeError:
            self._run(work)

    def heard(self) -> None:
        """Be quiet until the next piece is done."""
        with contextlib.suppress(OSError):
            while os.read(self._read, 64):
                pass

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with contextlib.suppress(OSError):
                os.write(self._write, b"!")
