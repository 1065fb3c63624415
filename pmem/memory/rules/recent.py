"""Looks back over what a session did, bounded: one attempt, one failure, one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice

from pmem.core.history import MAX_TEXT, Facts
from pmem.core.moment import Moment
from pmem.core.sight import edited_paths
from pmem.memory.rules.phrases import data

_LINES = re.compile(r"^edit (\d+:\d+)")
_RANGE = re.compile(r"\s+(?:offset|limit|pages)=.*$")
_PATHS = re.compile(r"(?:/private)?/(?:tmp|var/folders|var/tmp|dev/shm)(?:/[\w.@+-]+)*/")
_NUMBERS = re.compile(
    r"(?<=[:(,])\d+(?=[:,)])|(?<=:)\d+$|(?<=\bline )\d+|\b0x[0-9a-f]+\b"
    r"|(?<![\w.])\d+(?:\.\d+)? ?m?s\b|\b\d{1,4}[-/:]\d\d[-/:]\d\d\S*"
    r"|(?<![\w.-])\d{5,}(?![\w-])|\bpid \d+",
    re.I,
)


def back(moment: Moment, reach: int) -> Iterator[Facts]:
    """The newest `reach` steps, newest first."""
    return islice(reversed(moment.history.facts), reach)


def newest(moment: Moment) -> Facts | None:
    """The step just made, None before the first."""
    return moment.history.facts[-1] if moment.history.facts else None


def target(text: str) -> str:
    """The file an edit or a read is about; for an editor that edits the open file, the lines."""
    return _kept_target(text) if len(text) <= MAX_TEXT else _target(text)


@lru_cache(maxsize=512)
def _kept_target(text: str) -> str:
    return _target(text)


def _target(text: str) -> str:
    lines = _LINES.match(text)
    if lines is not None:
        return lines[1]
    paths = edited_paths(text)
    if paths:
        return paths[0]
    first = text.partition("\n")[0].split(maxsplit=1)
    return _RANGE.sub("", first[1]) if len(first) > 1 else ""


def one_by_one(calls: list[Facts]) -> list[Facts]:
    """Of calls that were sent together only the last: they are one attempt."""
    found: list[Facts] = []
    for facts in calls:
        if found and facts.turn is not None and found[-1].turn == facts.turn:
            found.pop()
        found.append(facts)
    return found


@lru_cache(maxsize=512)
def cause(failure: str) -> str:
    """A failure line without what differs from run to run; "" for one that names no cause.

    Places in a file, times, addresses and long numbers differ by themselves. Other numbers say
    which: the file, the port, the value that came out.

    >>> cause("main_test.go:12: open /tmp/x/data1.json: no such file (0.02s)")
    'main_test.go:#: open data1.json: no such file (#)'
    """
    line = _NUMBERS.sub("#", _PATHS.sub("", failure)).strip()[:120]
    return "" if len(line) < 8 or _says_nothing().search(line) else line


@lru_cache(maxsize=512)
def installs(command: str) -> bool:
    """Whether a command may have brought or changed a tool."""
    return _installs().search(command) is not None


@cache
def _installs() -> re.Pattern[str]:
    return re.compile("|".join(data("tools")["installs"]), re.I)


def failed_items(output: str) -> frozenset[str]:
    """The tests that a run says have failed, by name."""
    found = {m[1].strip() for pattern in _items() for m in pattern.finditer(output[-20_000:])}
    return frozenset(sorted(found)[:50])


@cache
def _items() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, re.M) for p in data("causes")["failed_items"])


@cache
def _says_nothing() -> re.Pattern[str]:
    return re.compile("|".join(data("causes")["says_nothing"]), re.I)


@cache
def _not_tried() -> re.Pattern[str]:
    return re.compile("|".join(data("causes")["not_tried"]), re.I)


def was_tried(facts: Facts) -> bool:
    """Whether a failed call was carried out at all: a sibling's error or a missing read stop it."""
    return not _not_tried().search(facts.failure)
