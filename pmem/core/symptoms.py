"""Symptoms: the lines of an output that say that, and why, something failed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pmem.core.data import table
from pmem.core.text import clean

#: Lines looked at from the beginning and from the end of an output.
HEAD_LINES = 200
TAIL_LINES = 300
#: Characters of a line that are matched.
_MATCHED = 300
#: Characters in which the lines are looked for, half from each end.
_LOOKED_AT = 256 * 1024
#: A `likely` line counts as evidence among so many last lines.
_NEAR_END = 15
#: A line shorter than this (`FAIL`) says less than a longer one of its kind.
_BARE = 10
#: Characters of the line that is told.
MAX_FAILURE = 160

_STRENGTHS = ("tests", "build", "sure", "named", "likely", "hint")
_TESTS, _BUILD, _SURE, _NAMED, _LIKELY, _HINT = range(6)
_SUMMARY = 2
_TELLINGS = ("telling", "plain", "summary")
_HEADER = re.compile(r"(?:Exit code:? -?\d+|</?tool_use_error>|</?error>|stderr:|stdout:)\s*$")
_TAGS = re.compile(r"</?tool_use_error>")
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(r"[\w.]*[A-Z]\w*(?:: .*)?$")
_THREAD_ID = re.compile(r"(?<=' )\(\d+\) (?=panicked)")
_GO_MESSAGE = re.compile(r"\s+\S+_test\.go:\d+: ")


@dataclass(frozen=True, slots=True)
class Symptom:
    """A line, which of the kinds of failures.toml it is of, and how well (0 best) it tells why."""

    line: str
    number: int
    strength: int
    telling: int


def lines_of(observation: str) -> list[str]:
    """The lines of an output as they read, without an agent's header, head and tail if long."""
    if len(observation) > _LOOKED_AT:
        half = _LOOKED_AT // 2
        observation = f"{observation[:half]}\n{observation[-half:]}"
    lines = [line.rstrip() for line in clean(observation).split("\n")]
    if len(lines) > HEAD_LINES + TAIL_LINES:
        lines = [*lines[:HEAD_LINES], *lines[-TAIL_LINES:]]
    return [_TAGS.sub("", line) for line in lines if line and not _HEADER.match(line)]


def symptoms(lines: list[str]) -> list[Symptom]:
    """The lines that match a pattern, in order."""
    found = []
    for number, line in enumerate(lines):
        head = line[:_MATCHED]
        if head.isascii() and not _worth_a_look(head.lower()):
            continue
        rank = _rank(head)
        if rank is not None:
            found.append(Symptom(line, number, *rank))
    return found


def evidence(lines: list[str], silent: Iterable[str], *, mixed: bool) -> bool:
    """Whether an output proves a failure although no exit code does.

    `silent` are programs whose complaints do not count (reads, cleaning up); `mixed` says that
    files are printed among it, so that only what no file is likely to hold counts.
    """
    silent = frozenset(silent)
    found = [s for s in symptoms(lines) if _voice(s.line) not in silent]
    if any(s.strength == _TESTS for s in found):
        return True
    if any(_passed().search(line) for line in lines[-5:]):
        return False
    near = len(lines) - _NEAR_END
    return any(
        s.strength <= _SURE
        or (not mixed and s.strength == _NAMED)
        or (not mixed and s.strength == _LIKELY and s.number >= near)
        for s in found
    )


def own_voice(lines: list[str], names: Iterable[str]) -> str:
    """The first line in which one of these programs complains itself (`cat: x: No such file`)."""
    names = frozenset(names)
    for line in lines:
        if _voice(line) in names and _phrases().search(line):
            return line
    return ""


def most_telling(lines: list[str]) -> str:
    """The one line that says best why it failed, "" if there is no line at all.

    A line that ends in a colon is told with the one that follows it.
    """
    line, number = _ended(lines) or _exception(lines) or _best(lines)
    if line.endswith(":") and number + 1 < len(lines) and not line.startswith("Diff in "):
        line = f"{line} {lines[number + 1]}"
    return shortened(_THREAD_ID.sub("", line))


def shortened(line: str) -> str:
    """A line of an output on one line of at most MAX_FAILURE characters."""
    line = " ".join(line.split())
    return line if len(line) <= MAX_FAILURE else line[: MAX_FAILURE - 1].rstrip() + "…"


def _best(lines: list[str]) -> tuple[str, int]:
    found = symptoms(lines)
    if not found:
        return _fallback(lines)
    told = [s for s in found if s.telling < _SUMMARY]
    tests = [s for s in told if s.strength == _TESTS]
    built = [s for s in told if s.strength == _BUILD]
    summed = [s for s in found if s.strength == _TESTS]
    best = min(
        tests or built or summed or told or found,
        key=lambda s: (
            _SURE if s.strength == _NAMED else s.strength,
            s.telling,
            len(s.line) < _BARE,
            s.number,
        ),
    )
    if "--- FAIL: " in best.line:
        return _go_message(lines, best)
    return best.line, best.number


def _fallback(lines: list[str]) -> tuple[str, int]:
    """Without any pattern: what a short output or a diff begins with, what a long one ends with.

    A command that a tool repeats before it runs it (`> lint`, `$ make`) tells nothing.
    """
    told = [n for n, line in enumerate(lines) if not line.startswith(("> ", "$ ", "+ "))]
    if not told:
        return "", 0
    first = len(told) <= 6 or any(line.startswith("@@ ") for line in lines[:20])
    number = told[0] if first else told[-1]
    return lines[number], number


def _go_message(lines: list[str], symptom: Symptom) -> tuple[str, int]:
    """What a Go test said: after its `--- FAIL`, or before it (-v)."""
    for way in (1, -1):
        number = symptom.number + way
        while 0 <= number < len(lines) and lines[number].startswith("    "):
            if _GO_MESSAGE.match(lines[number]):
                return lines[number], number
            number += way
    return symptom.line, symptom.number


def _ended(lines: list[str]) -> tuple[str, int] | None:
    """What says that the command did not end by itself: nothing it printed tells more."""
    for number in (*range(min(2, len(lines))), *range(max(2, len(lines) - 2), len(lines))):
        if _ended_lines().match(lines[number]):
            return lines[number], number
    return None


def _exception(lines: list[str]) -> tuple[str, int] | None:
    """The exception at the end of the last Python traceback."""
    at = max((n for n, line in enumerate(lines) if _TRACEBACK in line), default=None)
    if at is None:
        return None
    indent = len(lines[at]) - len(lines[at].lstrip())
    for number in range(at + 1, len(lines)):
        text = lines[number][indent:] if lines[number][:indent].isspace() else lines[number]
        if not text[:1].isspace() and _EXCEPTION.match(text):
            return text, number
    return None


def _voice(line: str) -> str:
    """The program that a line names as its speaker: `cat` of `/bin/cat: x: …`."""
    name, colon, _ = line.partition(":")
    return name.strip().rpartition("/")[2] if colon and len(name) < 60 else ""


def _rank(line: str) -> tuple[int, int] | None:
    if _never().search(line):
        return None
    if _says(line):
        return _SURE, 0
    for strength, by_telling in enumerate(_patterns()):
        for telling, pattern in enumerate(by_telling):
            if pattern is not None and pattern.search(line):
                return strength, telling
    return None


def _says(line: str) -> bool:
    name = _voice(line.replace("：", ":"))
    return bool(name) and " " not in name and bool(_phrases().search(line, len(name)))


@cache
def _patterns() -> tuple[tuple[re.Pattern[str] | None, ...], ...]:
    data = table("failures")
    return tuple(
        tuple(
            _any(data[strength][telling], re.IGNORECASE if strength == "hint" else 0)
            for telling in _TELLINGS
        )
        for strength in _STRENGTHS
    )


def _any(patterns: list[str], flags: int) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{p})" for p in patterns), flags) if patterns else None


@cache
def _passed() -> re.Pattern[str]:
    return re.compile("|".join(table("failures")["passed"]["lines"]))


@cache
def _ended_lines() -> re.Pattern[str]:
    return re.compile("|".join(table("failures")["ended"]["lines"]))


@cache
def _never() -> re.Pattern[str]:
    return re.compile("|".join(table("failures")["never"]["lines"]))


@cache
def _phrases() -> re.Pattern[str]:
    phrases = [phrase for spoken in table("voices").values() for phrase in spoken]
    return re.compile("|".join(map(re.escape, phrases)))


def _worth_a_look(line: str) -> bool:
    """Whether a line can match at all: it spares most lines the long patterns."""
    return any(stem in line for stem in _stems())


@cache
def _stems() -> tuple[str, ...]:
    return tuple(table("failures")["stems"]["lower"].split("|"))
