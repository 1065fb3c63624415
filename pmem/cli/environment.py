"""Environment: everything a command may know of the process it runs in.

Commands read and write through it alone, so a test builds one and patches nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TextIO, cast

#: Width assumed where nothing tells it, in cells.
COLUMNS = 80


class Environment(NamedTuple):
    """Streams, which of them are terminals, variables, and the directory pmem was called in.

    `width` is the terminal's width in cells; None means: ask the terminal.
    """

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    env: Mapping[str, str] = MappingProxyType({})
    cwd: Path = Path()
    stdin_isatty: bool = False
    stdout_isatty: bool = False
    stderr_isatty: bool = False
    width: int | None = None

    @classmethod
    def of_process(cls) -> Environment:
        """The real one. A directory that was deleted under us is taken from PWD."""
        _fill_closed()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a character the locale lacks is no reason to die
                stream.reconfigure(errors="backslashreplace")
        try:
            cwd = Path.cwd()
        except OSError:
            cwd = Path(os.environ.get("PWD", "/"))
        return cls(
            stdin=sys.stdin or _nothing("r"),
            stdout=sys.stdout or _nothing("w"),
            stderr=sys.stderr or _nothing("w"),
            env=os.environ,
            cwd=cwd,
            stdin_isatty=_isatty(0),
            stdout_isatty=_isatty(1),
            stderr_isatty=_isatty(2),
        )

    @property
    def columns(self) -> int:
        """Cells a line may take on stdout: the terminal's, else COLUMNS, else 80."""
        if self.width is not None:
            return self.width
        told = self.env.get("COLUMNS", "")
        if told.isdecimal() and int(told) > 0:
            return int(told)
        for fd in (1, 2, 0):
            try:
                size = os.get_terminal_size(fd).columns
            except OSError:
                continue
            if size > 0:
                return size
        return COLUMNS

    @property
    def terminal(self) -> bool:
        """True if a person sits at both ends: the program gets a pty."""
        return self.stdin_isatty and self.stdout_isatty

    def colour(self, stream: TextIO) -> bool:
        """Whether to colour this stream: NO_COLOR, then FORCE_COLOR, then what it is."""
        if self.env.get("NO_COLOR"):
            return False
        forced = self.env.get("FORCE_COLOR") or self.env.get("CLICOLOR_FORCE")
        if forced:
            return forced != "0"
        if self.env.get("TERM") == "dumb" or self.env.get("CLICOLOR") == "0":
            return False
        return self.stdout_isatty if stream is self.stdout else self.stderr_isatty

    def say(self, line: str) -> None:
        """One line of words in pmem's name, on stderr."""
        self.write_words(f"pmem: {line}")

    def write_words(self, text: str) -> None:
        """Words, on stderr, with their newline, after the data written so far.

        A closed stderr is not our business.
        """
        try:
            self.stdout.flush()
            self.stderr.write(text + "\n")
            self.stderr.flush()
        except (OSError, ValueError):
            pass

    def write(self, text: str) -> None:
        """Data, on stdout, with its newline."""
        self.stdout.write(text + "\n")


def _fill_closed() -> None:
    """Take the numbers of closed standard streams, lest a socket of ours gets one.

    What is opened here is closed again in the program that is started, as it was for us.
    """
    fd = os.open(os.devnull, os.O_RDWR)
    while fd < 3:
        fd = os.open(os.devnull, os.O_RDWR)
    os.close(fd)


def _nothing(mode: str) -> TextIO:
    return cast("TextIO", Path(os.devnull).open(mode, encoding="utf-8"))


def _isatty(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False
