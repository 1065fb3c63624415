"""Outlet: what is on its way to the terminal, which may be slow; who records gets a copy."""

from __future__ import annotations

from typing import Protocol

from pmem.terminal.tty import Size, Terminal

#: Bytes that wait for the terminal past which no more is read for it.
MAX_QUEUED = 64 << 10


class Recorder(Protocol):
    """Gets a copy of what the terminal shows (`--record`)."""

    def output(self, data: bytes) -> None:
        """Bytes on their way to the terminal."""
        ...

    def resize(self, size: Size) -> None:
        """The terminal's size, at the start and whenever it changes."""
        ...


class Outlet:
    """Writes to a terminal without ever waiting for it; `unsent` is what it has not taken yet.

    `notice` is a sequence to be put in where it cuts none of the program's. Once `shut`, all that
    comes is dropped.
    """

    def __init__(self, terminal: Terminal, recorder: Recorder | None = None) -> None:
        self._terminal = terminal
        self._recorder = recorder
        self.unsent = bytearray()
        self.notice = b""
        self._shut = False

    @property
    def has_room(self) -> bool:
        """Whether more may be read for it."""
        return len(self.unsent) < MAX_QUEUED

    def write(self, data: bytes) -> None:
        """Send this behind what waits, as far as the terminal takes it. OSError: it is gone."""
        if self._recorder is not None and data:
            self._recorder.output(data)
        if self._shut:
            return
        if self.notice:
            data = self._with_notice(data)
        if self.unsent:
            self.unsent += data
            del self.unsent[: self._terminal.write(self.unsent)]
        else:
            sent = self._terminal.write(data)
            if sent < len(data):
                self.unsent += data[sent:]

    def resize(self, size: Size) -> None:
        """The terminal has this size now."""
        if self._recorder is not None:
            self._recorder.resize(size)

    def shut(self) -> None:
        """The terminal is gone."""
        self._shut = True
        self.unsent.clear()

    def _with_notice(self, data: bytes) -> bytes:
        from pmem.terminal.notify import put_in

        noticed = put_in(self.notice, data)
        if noticed is None:
            return data
        self.notice = b""
        return noticed
