"""Inlet: what was typed, on its way to the program, which may not read it yet."""

from __future__ import annotations

from pmem.terminal.child import Child
from pmem.terminal.tty import Terminal

#: A program that does not read gets no more than so many bytes queued.
MAX_QUEUED = 64 << 10


class Inlet:
    """Reads from a terminal and feeds a child; `untaken` is what the child has not read yet.

    It is `open` until the input has ended.
    """

    def __init__(self, terminal: Terminal, child: Child) -> None:
        self._terminal = terminal
        self._child = child
        self._last = b""
        self.untaken = bytearray()
        self.open = True

    @property
    def takes(self) -> bool:
        """Whether more may be read."""
        return self.open and len(self.untaken) < MAX_QUEUED

    def read(self, size: int) -> bytes | None:
        """What was typed, b"" at the end of it, None if there is nothing now."""
        data = self._terminal.read(size)
        if data:
            self._last = data[-1:]
        return data

    def end(self) -> None:
        """Tell the program that the input has ended, as a terminal does."""
        self.open = False
        # On a line that is not ended the first one only ends that line.
        ends = self._child.end_of_file()
        self.untaken += ends if self._last in b"\r\n" else ends * 2

    def put(self, data: bytes) -> None:
        """Give the program this behind what waits, as far as it takes it."""
        if self.untaken:
            self.untaken += data
            self.feed()
        elif (taken := self._child.write(data)) < len(data):
            self.untaken += data[taken:]

    def feed(self) -> None:
        """Give the program what it takes."""
        if self.untaken:
            del self.untaken[: self._child.write(self.untaken)]
