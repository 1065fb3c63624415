"""The exit codes of pmem itself; a program run under pmem keeps its own."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What pmem ends with when it is not the program's own code (128 + signal included)."""

    OK = 0
    #: What was asked for is not there: an entry, a session.
    MISSING = 1
    #: The command line, or a value in it, cannot be used.
    USAGE = 2
    #: pmem could not do its own part, as `env` and `timeout` have it.
    OURS = 125
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class Trouble(Exception):
    """Something the user should know: what happened, and what to do next.

    Shown as one line `pmem: WHAT; NEXT` on stderr; the process ends with `code`.
    """

    def __init__(self, what: str, next: str = "", code: int = Exit.OURS) -> None:
        super().__init__(what)
        self.what = what
        self.next = next
        self.code = code

    def __str__(self) -> str:
        return f"{self.what}; {self.next}" if self.next else self.what
