"""Child: the program in its pty, from its start to its exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import termios
from typing import Any

from pmem.terminal.tty import Size, attributes_of, set_size


class Child:
    """A running program and the master side of its pty (`master`, None once it is closed)."""

    def __init__(self, spawned: Any) -> None:
        """Take over what `pexpect.spawn` started."""
        self._spawned = spawned
        self.pid: int = spawned.pid
        self.master: int | None = spawned.child_fd
        self._status: int | None = None
        os.set_blocking(spawned.child_fd, False)

    @property
    def ended(self) -> bool:
        """Whether the program was seen to end."""
        return self._status is not None

    @property
    def exit_code(self) -> int:
        """As a shell has it: 128 + n if signal n ended it; 129 if its end was not waited for."""
        if self._status is None:
            return 128 + signal.SIGHUP
        return exit_code(self._status)

    def check(self) -> bool:
        """Look whether the program ended or stopped; True if it stopped."""
        if self.ended:
            return False
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid == 0:
            return False
        if os.WIFSTOPPED(status):
            return True
        self._status = status
        return False

    def read(self, size: int) -> bytes | None:
        """What the program wrote, b"" at the end of it, None if there is nothing now."""
        if self.master is None:
            return b""
        try:
            return os.read(self.master, size)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:  # EIO: no process has the other side open any more
            return b""

    def write(self, data: bytes | bytearray) -> int:
        """Pass on input; how many bytes were taken. What nobody can read is taken and dropped."""
        if self.master is None:
            return len(data)
        try:
            return os.write(self.master, data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            return len(data)

    def signal(self, number: int) -> None:
        """Send a signal to the program and what shares its process group."""
        if not self.ended:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def resize(self, size: Size) -> None:
        """Give the pty this size."""
        if self.master is not None:
            set_size(self.master, size)

    def end_of_file(self) -> bytes:
        """The character that tells a program in a terminal that its input has ended."""
        settings = None if self.master is None else attributes_of(self.master)
        return b"\x04" if settings is None else bytes(settings[6][termios.VEOF])

    def hang_up(self) -> None:
        """Close the pty: to the program its terminal was closed."""
        self.close()
        self.signal(signal.SIGHUP)
        self.signal(signal.SIGCONT)

    def close(self) -> None:
        """Close the master; harmless when called twice."""
        self.master = None
        self._spawned.ptyproc.fileobj.close()
        # pexpect would wait for the program, and kill it, when it is collected.
        for part in (self._spawned, self._spawned.ptyproc):
            part.closed = part.terminated = True


def exit_code(status: int) -> int:
    """The shell's exit code of a wait status: 128 + signal for a killed child."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code
