"""The rig: a pty in the test's hands, with a program on its inside and a session on its link."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

from pmem.terminal.link import Link

ROOT = Path(__file__).resolve().parents[2]
HOST = Path(__file__).with_name("host.py")
NONCE = "0123456789abcdef"

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


def silent(message: Mapping[str, Any]) -> None:
    """The session that never says anything."""


def winsize(rows: int, columns: int, pixels: tuple[int, int] = (0, 0)) -> bytes:
    return struct.pack("HHHH", rows, columns, *pixels)


class Rig:
    """A program in a pty of the test's own; what it writes is in `output`, byte for byte."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        rows: int = 24,
        columns: int = 80,
        pixels: tuple[int, int] = (0, 0),
        link: socket.socket | None = None,
        answer: Answer | None = silent,
        attributes: Callable[[list[Any]], None] | None = None,
        pass_fds: Sequence[int] = (),
        cwd: Path | None = None,
        stdin: int | None = None,
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, winsize(rows, columns, pixels))
        if attributes is not None:
            settings = termios.tcgetattr(slave)
            attributes(settings)
            termios.tcsetattr(slave, termios.TCSANOW, settings)
        #: The terminal's settings as the program found them.
        self.found: list[Any] = termios.tcgetattr(slave)
        self.slave_name = os.ttyname(slave)

        def own_terminal() -> None:
            os.setsid()
            fcntl.ioctl(1, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            list(argv),
            stdin=slave if stdin is None else stdin,
            stdout=slave,
            stderr=slave,
            env=dict(os.environ if env is None else env),
            preexec_fn=own_terminal,
            pass_fds=tuple(pass_fds),
            cwd=cwd,
        )
        self.slave = slave
        os.set_blocking(self.master, False)
        self.output = bytearray()
        self.at = 0
        self.messages: list[dict[str, Any]] = []
        self.answer = answer
        self.link = None if link is None else Link(link)
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._painted = 0

    # -- doing ------------------------------------------------------------------------------

    def send(self, data: str | bytes) -> None:
        """Type; keeps reading, so that a program that writes meanwhile is not held up."""
        left = memoryview(data.encode() if isinstance(data, str) else data)
        deadline = time.monotonic() + 30
        while left:
            assert time.monotonic() < deadline, "the program takes no input"
            with contextlib.suppress(BlockingIOError):
                left = left[os.write(self.master, left) :]
            self.pump(0.01 if left else 0)

    def line(self, text: str) -> None:
        """Type a line and Enter."""
        self.send(text + "\r")

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, winsize(rows, columns))

    def pump(self, seconds: float) -> bool:
        """Take what comes within so many seconds, from the program and from the link."""
        fds = [self.master]
        if self.link is not None and self.link.alive:
            fds.append(self.link.fileno())
        ready = select.select(fds, [], [], seconds)[0]
        if self.link is not None and len(fds) > 1 and fds[1] in ready:
            self._serve()
        if self.master not in ready:
            return bool(ready)
        try:
            chunk = os.read(self.master, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.output += chunk
        return bool(chunk)

    def _serve(self) -> None:
        assert self.link is not None
        for message in self.link.receive():
            self.messages.append(message)
            if "n" in message and self.answer is not None:
                banner = self.answer(message)
                self.link.send({"type": "answer", "n": message["n"], "banner": banner})

    def until(self, condition: Callable[[], Any], seconds: float = 20) -> Any:
        """Pump until the condition holds; its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            left = deadline - time.monotonic()
            assert left > 0, f"waited in vain; last output: {bytes(self.output[-2000:])!r}"
            self.pump(min(left, 0.2))

    def expect(self, pattern: str | bytes, seconds: float = 20) -> re.Match[bytes]:
        """Pump until the output after the last match has the pattern."""
        compiled = re.compile(pattern.encode() if isinstance(pattern, str) else pattern, re.DOTALL)
        found: re.Match[bytes] = self.until(
            lambda: compiled.search(bytes(self.output), self.at), seconds
        )
        self.at = found.end()
        return found

    def for_a_while(self, seconds: float) -> None:
        """Pump for so long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.pump(left)

    def settle(self) -> None:
        """Pump until nothing comes for a moment."""
        while self.pump(0.05):
            pass

    def wait(self, seconds: float = 20) -> int:
        """Pump until the program has ended; its exit code, -n for a signal."""
        self.until(lambda: self.process.poll() is not None, seconds)
        while self.pump(0.05):
            pass
        return self.process.returncode

    # -- looking ----------------------------------------------------------------------------

    @property
    def settings(self) -> list[Any]:
        """The terminal's settings as they are now."""
        return termios.tcgetattr(self.slave)

    def display(self) -> list[str]:
        """The screen as lines of text."""
        self._stream.feed(bytes(self.output[self._painted :]))
        self._painted = len(self.output)
        return [line.rstrip() for line in self._screen.display]

    def finished(self, index: int = -1) -> dict[str, Any]:
        """A `finished` message."""
        return [m for m in self.messages if m["type"] == "finished"][index]

    def close(self) -> None:
        """End what is left."""
        with contextlib.suppress(OSError):
            os.close(self.master)
        with contextlib.suppress(OSError):
            os.close(self.slave)
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        if self.link is not None:
            self.link.close()


def host(*argv: str) -> list[str]:
    """The command line of the relay around a program."""
    return [sys.executable, str(HOST), "--", *argv]


def host_env(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which host.py finds pmem."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
