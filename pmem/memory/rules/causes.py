"""What kind of failure a line tells: one that passes by itself, a wrong call, or neither."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

from pmem.memory.rules.phrases import data

Kind = Literal[
    "transient",
    "missing_tool",
    "missing_module",
    "missing_file",
    "permission",
    "usage",
    "syntax",
    "",
]

#: The command could not do its work as it was called: another form of it is a remedy. A failed
#: check or a compile error is none of these; there the code has to change.
WRONG_CALL = frozenset(
    ("missing_tool", "missing_module", "missing_file", "permission", "usage", "syntax")
)
#: Exit codes of a command that was stopped from outside (by a signal, by `timeout`).
STOPPED = frozenset((124, 130, 137, 143))


@lru_cache(maxsize=512)
def kind(failure: str) -> Kind:
    """The kind of a failure line, "" if it is of no known kind.

    >>> kind("bash: jq: command not found")
    'missing_tool'
    """
    for name, words in _kinds():
        if words.search(failure):
            return name
    return ""


@lru_cache(maxsize=512)
def waits(command: str) -> bool:
    """Whether a command looks at something that changes by itself: polling is no repetition."""
    return _waits().search(command) is not None


@cache
def _waits() -> re.Pattern[str]:
    return re.compile("|".join(data("causes")["waits"]))


@cache
def _kinds() -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    return tuple(
        (row["name"], re.compile("|".join(row["words"]), re.I)) for row in data("causes")["kind"]
    )
