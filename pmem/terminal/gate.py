"""The gate: a shell that has said which command it is about to run waits here for leave.

A mark in the output comes to pmem when the command is already running, so the shell tells the
mark first and then reads a fifo, 50 ms at most. pmem answers `NUMBER run`, or `NUMBER hold` and
later `NUMBER run`; ctrl-C in between drops the command, which is the shell's own doing. A shell
that got no answer says so with a mark of its own, so that pmem never believes in vain that a
command waits.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field

#: An answer later than so many seconds after the mark no longer finds the shell waiting.
IN_TIME = 0.035
#: Where something is forbidden, a command is kept waiting for the answer so long, in seconds: on
#: a busy machine too, what is forbidden starts only after its banner.
SURE = 1.0

_ENTER = (b"\r", b"\n")
_INTERRUPT = b"\x03"
#: Lines with which a person says no, whatever the banner told them to press.
_NO = (b"n", b"no", b"q", b"quit", b"abort", b"cancel", "아니요".encode(), "아니".encode())


class Gate:
    """pmem's end of the fifo."""

    def __init__(self, path: str) -> None:
        """Open it; a gate that cannot be opened is none, and nothing waits."""
        self._fd: int | None = None
        with contextlib.suppress(OSError):
            # For reading too: a fifo opened only for writing fails while no shell reads it.
            self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            if not stat.S_ISFIFO(os.fstat(self._fd).st_mode):
                self.close()

    @property
    def stands(self) -> bool:
        """Whether a shell waits at it."""
        return self._fd is not None

    def run(self, number: str) -> None:
        """Let the command with this number run."""
        self._say(f"{number} run\n")

    def hold(self, number: str) -> None:
        """Make it wait until `run`, however long."""
        self._say(f"{number} hold\n")

    def close(self) -> None:
        """Nothing waits any more."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _say(self, line: str) -> None:
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.write(self._fd, line.encode("ascii", "replace"))


@dataclass(slots=True)
class Question:
    """A held command that waits for the person: Enter runs it, ctrl-C drops it.

    `kept` is what the shell gets once that is decided: every key but that Enter, and that one
    too if it ends a line typed ahead. A typed no drops the command as ctrl-C does.
    """

    number: str
    kept: bytearray = field(default_factory=bytearray)

    def take(self, keys: bytes) -> bool | None:
        """True: run it; False: drop it; None: these keys decided nothing."""
        for at in range(len(keys)):
            key = keys[at : at + 1]
            if key in _ENTER:
                self.kept += keys[:at]
                if self.kept.strip().lower() in _NO:
                    self.kept[:] = _INTERRUPT + keys[at + 1 :]
                    return False
                self.kept += keys[at:] if self.kept else keys[at + 1 :]
                return True
            if key == _INTERRUPT:
                # First, since a terminal's interrupt discards what was typed before it.
                self.kept[:0] = key
                self.kept += keys[:at] + keys[at + 1 :]
                return False
        self.kept += keys
        return None
