"""The outer terminal: its size, its settings, raw mode, and a way to write that never blocks."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import termios
from typing import Any, NamedTuple

Attributes = list[Any]


class Size(NamedTuple):
    """Rows and columns in cells, and the same in pixels where the terminal tells them."""

    rows: int = 24
    columns: int = 80
    width: int = 0
    height: int = 0

    def packed(self) -> bytes:
        """As TIOCSWINSZ takes it."""
        return struct.pack("HHHH", self.rows, self.columns, self.width, self.height)


def size_of(fd: int) -> Size:
    """The size of this terminal. A side that is 0 or cannot be told counts as 24 or 80 cells.

    A terminal squeezed to one row or column is passed on as two: full-screen programs wipe
    their session at one.
    """
    try:
        answer = fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))
    except OSError:
        return Size()
    rows, columns, width, height = struct.unpack("HHHH", answer)
    return Size(max(rows, 2) if rows else 24, max(columns, 2) if columns else 80, width, height)


def set_size(fd: int, size: Size) -> None:
    """Resize the pty behind `fd`; its foreground programs get SIGWINCH if that is a change."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, size.packed())


def attributes_of(fd: int) -> Attributes | None:
    """The terminal settings of `fd`, None if it is no terminal."""
    try:
        return termios.tcgetattr(fd)
    except (termios.error, OSError):
        return None


def raw_version(attributes: Attributes) -> Attributes:
    """These settings with every translation, echo and signal key off (cfmakeraw)."""
    iflag, oflag, cflag, lflag, ispeed, ospeed, characters = attributes
    iflag &= ~(
        termios.IGNBRK
        | termios.BRKINT
        | termios.PARMRK
        | termios.ISTRIP
        | termios.INLCR
        | termios.IGNCR
        | termios.ICRNL
        | termios.IXON
    )
    oflag &= ~termios.OPOST
    lflag &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
    cflag = (cflag & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
    characters = list(characters)
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, characters]


class Terminal:
    """What the user sits at: `input` is read, `output` written.

    Without a terminal on one of them the other one serves for size and settings; with none
    the size is 80x24.
    """

    def __init__(self, input: int = 0, output: int = 1) -> None:
        self._control = next((fd for fd in (input, output) if os.isatty(fd)), None)
        self.attributes = None if self._control is None else attributes_of(self._control)
        self.input_is_tty = os.isatty(input)
        self._opened = _open_again(output)
        self.output = output if self._opened is None else self._opened
        # Non-blocking where both are one terminal: another reader may be faster than our read.
        same = self._opened is not None and self.input_is_tty and _same(input, self._opened)
        self.input = self.output if same else input
        self._is_raw = False

    @property
    def size(self) -> Size:
        """The present size."""
        return Size() if self._control is None else size_of(self._control)

    @property
    def gone(self) -> bool:
        """Whether the terminal was closed or hung up behind our back."""
        return self._control is not None and attributes_of(self._control) is None

    def enter_raw(self) -> None:
        """Raw mode. What was typed ahead stays (TCSANOW, not TCSAFLUSH).

        Where the input comes from elsewhere the terminal's keys stay as they are.
        """
        if self.attributes is not None:
            raw = raw_version(self.attributes)
            if not self.input_is_tty:
                raw = [self.attributes[0], raw[1], *self.attributes[2:]]
            self._set(raw)
            self._is_raw = True

    def leave_raw(self) -> None:
        """The settings from before; harmless when called twice."""
        if self._is_raw and self.attributes is not None:
            self._set(self.attributes)
            self._is_raw = False

    def remember(self) -> None:
        """Take the present settings as those to go back to (after a stop they may be others)."""
        if self._control is not None and not self._is_raw:
            self.attributes = attributes_of(self._control) or self.attributes

    def read(self, size: int) -> bytes | None:
        """What was typed, b"" at its end, None if there is nothing now."""
        try:
            return os.read(self.input, size)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write what the terminal takes at once; the number of bytes, 0 if it takes none.

        Raises OSError when the terminal is gone.
        """
        if self._opened is None:
            # No own descriptor: O_NONBLOCK would leak to the shell, so write only what surely
            # fits after poll said that it is writable.
            if not _is_writable(self.output):
                return 0
            data = data[: select.PIPE_BUF]
        try:
            return os.write(self.output, data)
        except (BlockingIOError, InterruptedError):
            return 0

    def wait_writable(self, seconds: float) -> None:
        """Wait until the terminal takes something, for so long at most."""
        _is_writable(self.output, seconds)

    def close(self) -> None:
        """Restore the settings and close what was opened."""
        self.leave_raw()
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None

    def _set(self, attributes: Attributes) -> None:
        assert self._control is not None
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(self._control, termios.TCSANOW, attributes)


def _open_again(fd: int) -> int | None:
    """The terminal behind `fd`, opened a second time with O_NONBLOCK, if that can be done.

    Setting O_NONBLOCK on `fd` itself would reach every process that shares it.
    """
    for access in (os.O_RDWR, os.O_WRONLY):
        try:
            again = os.open(os.ttyname(fd), access | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            continue
        if _same(fd, again):
            return again
        os.close(again)
    return None


def _same(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def _is_writable(fd: int, seconds: float = 0.0) -> bool:
    poller = select.poll()
    poller.register(fd, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poller.poll(seconds * 1000))
