"""Run a program without a pty: stdin, stdout and stderr are its own, pmem only waits."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from pmem.terminal.child import exit_code
from pmem.terminal.spawn import CannotStart, cannot_execute, find_program

#: Passed on to the program. A terminal sends INT and QUIT to both of us already.
_FORWARDED = ("TERM", "HUP", "USR1", "USR2", "WINCH")
_LEFT_TO_THE_PROGRAM = ("INT", "QUIT")


def run_plain(argv: Sequence[str], env: Mapping[str, str], cwd: str | None = None) -> int:
    """Run a program with the stdio pmem was given, and wait for it.

    Returns its exit code, 128 + n if signal n ended it, 127 or 126 (with a word on stderr) if
    it cannot be started. Signals sent to pmem reach the program; if it stops, pmem stops.
    """
    with _PassingOn() as signals:
        try:
            path = find_program(argv[0], env, cwd)
            child = _start(path, argv, env, cwd)
        except CannotStart as problem:
            print(f"pmem: {problem}", file=sys.stderr)
            return problem.exit_code
        signals.to(child)
        while True:
            _, status = os.waitpid(child.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(child.pid, signal.SIGCONT)
    child.returncode = os.waitstatus_to_exitcode(status)
    return exit_code(status)


def _start(
    path: str, argv: Sequence[str], env: Mapping[str, str], cwd: str | None
) -> subprocess.Popen[bytes]:
    try:
        return _popen(path, list(argv), env, cwd)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise cannot_execute(argv[0], error) from None
    # A script without `#!` is run by sh, as every shell does.
    return _popen("/bin/sh", ["sh", path, *argv[1:]], env, cwd)


def _popen(
    path: str, argv: list[str], env: Mapping[str, str], cwd: str | None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, executable=path, env=dict(env), cwd=cwd, close_fds=False)


class _PassingOn:
    """While it is entered, signals go to the program; those before its start follow it."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._old: dict[int, Any] = {}

    def __enter__(self) -> _PassingOn:
        for name in (*_FORWARDED, *_LEFT_TO_THE_PROGRAM):
            number = getattr(signal, f"SIG{name}")
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._old[number] = signal.signal(number, self._pass)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def to(self, child: subprocess.Popen[bytes]) -> None:
        """The program runs."""
        self._child = child
        while self._early:
            self._pass(self._early.pop(0), None)

    def _pass(self, number: int, frame: FrameType | None) -> None:
        if signal.Signals(number).name[3:] in _LEFT_TO_THE_PROGRAM and _shares_terminal():
            return
        if self._child is None:
            self._early.append(number)
            return
        with contextlib.suppress(ProcessLookupError):
            # Popen.send_signal would reap the program behind our waitpid.
            os.kill(self._child.pid, number)


def _shares_terminal() -> bool:
    """Whether ctrl-C at a terminal reaches our whole process group."""
    try:
        fd = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(fd)
