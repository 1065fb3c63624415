"""Drain: when to stop reading the output of a program that has ended."""

from __future__ import annotations

import time

#: Once all that the program wrote is read, so many seconds are left for what others write; …
PAUSE = 0.05
#: … and a background process that writes for ever gets so many bytes.
MOST = 1 << 20


class Drain:
    """Begun when the program ended. Nothing it wrote is left behind, and nobody is waited for."""

    def __init__(self) -> None:
        self.until = time.monotonic() + PAUSE
        self._taken = 0
        self._dry = False

    @property
    def due(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.until

    @property
    def complete(self) -> bool:
        """Whether all that the program wrote is read, as far as that can be known."""
        return self._dry or self._taken >= MOST

    def took(self, size: int) -> None:
        """Bytes came: until it has been dry once they are the program's."""
        self._taken += size
        if not self._dry:
            self.wait()

    def wait(self) -> None:
        """Start the time again: reading was not possible, or not over."""
        self.until = time.monotonic() + PAUSE

    def ran_dry(self) -> None:
        """There was nothing to read: what still comes is a background process's."""
        self._dry = True
