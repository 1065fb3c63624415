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
#: Characters of the line that is told.
MAX_FAILURE = 160

_STRENGTHS = ("sure", "likely", "hint")
_TELLINGS = ("telling", "plain", "summary")
_HEADER = re.compile(r"(?:Exit code:? -?\d+|</?tool_use_error>|</?error>|stderr:|stdout:)\s*$")
_TAGS = re.compile(r"</?tool_use_error>")
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(r"[\w.]*[A-Z]\w*(?:: .*)?$")
_GO_MESSAGE = re.compile(r"\s+\S+_test\.go:\d+: ")


@dataclass(frozen=True, slots=True)
class Symptom:
    """A line with how surely (0 best) it proves a failure and how well (0 best) it tells why."""

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
        if not _worth_a_look().search(head):
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
    for symptom in symptoms(lines):
        if _voice(symptom.line) in silent or symptom.strength > 1:
            continue
        if symptom.strength == 0 or (not mixed and symptom.number >= len(lines) - _NEAR_END):
            return True
    return False


def own_voice(lines: list[str], names: Iterable[str]) -> str:
    """The first line in which one of these programs complains itself (`cat: x: No such file`)."""
    names = frozenset(names)
    for line in lines:
        if _voice(line) in names and _phrases().search(line):
            return line
    return ""


def most_telling(lines: list[str]) -> str:
    """The one line that says best why it failed, "" if there is no line at all."""
    line = _exception(lines) or _best(lines)
    return shortened(line)


def shortened(line: str) -> str:
    """A line of an output on one line of at most MAX_FAILURE characters."""
    line = " ".join(line.split())
    return line if len(line) <= MAX_FAILURE else line[: MAX_FAILURE - 1].rstrip() + "…"


def _best(lines: list[str]) -> str:
    found = symptoms(lines)
    if not found:
        return _fallback(lines)
    best = min(found, key=lambda s: (s.telling == 2, s.strength, s.telling, s.number))
    return _go_message(lines, best) if "--- FAIL: " in best.line else best.line


def _fallback(lines: list[str]) -> str:
    """Without any pattern: what a short output begins with, what a long one ends with."""
    if not lines:
        return ""
    return lines[0] if len(lines) <= 6 else lines[-1]


def _go_message(lines: list[str], symptom: Symptom) -> str:
    """Go prints what a test said before its `--- FAIL` (-v) or after it."""
    for number in (symptom.number + 1, symptom.number - 1):
        if 0 <= number < len(lines) and _GO_MESSAGE.match(lines[number]):
            return lines[number]
    return symptom.line


def _exception(lines: list[str]) -> str:
    """The exception at the end of the last Python traceback."""
    at = max((n for n, line in enumerate(lines) if _TRACEBACK in line), default=None)
    if at is None:
        return ""
    indent = len(lines[at]) - len(lines[at].lstrip())
    for line in lines[at + 1 :]:
        text = line[indent:] if line[:indent].isspace() or not indent else line
        if not text[:1].isspace() and _EXCEPTION.match(text):
            return text
    return ""


def _voice(line: str) -> str:
    """The program that a line names as its speaker: `cat` of `/bin/cat: x: …`."""
    name, colon, _ = line.partition(":")
    return name.strip().rpartition("/")[2] if colon and len(name) < 60 else ""


def _rank(line: str) -> tuple[int, int] | None:
    if _never().search(line):
        return None
    if _says(line):
        return 0, 0
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
        tuple(_any(data[strength][telling]) for telling in _TELLINGS) for strength in _STRENGTHS
    )


def _any(patterns: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{p})" for p in patterns)) if patterns else None


@cache
def _never() -> re.Pattern[str]:
    return re.compile("|".join(table("failures")["never"]["lines"]))


@cache
def _phrases() -> re.Pattern[str]:
    return re.compile("|".join(re.escape(p) for p in table("failures")["voices"]["phrases"]))


@cache
def _worth_a_look() -> re.Pattern[str]:
    """What every matching line holds: it spares the others the long patterns."""
    return re.compile(
        r"(?i:err|fail|fatal|panic|exce|denied|cannot|couldn|could not|unable|refused|found|no such"
        r"|trace|fault|abort|kill|halt|conflict|reject|invalid|unknown|unexpected|usage|timed? ?out"
        r"|undefined|not ok|interrupt|stopiter|exit|missing|syntax|directory|permi|eaddr|enoent|unhandled)"
        r"|[●✕✖✗✘❌×│]|^E: |\.go:\d|\bdoes not\b|\bis not\b|\bmust not\b|required|mismatch|expected"
        r"|\(eval\)|^Diff in|^ ! \[|^ssh: |ld: |^e: |[\u0400-\u04ff\u3040-\u9fff\uac00-\ud7af]"
        r"|icht|encontr|introuv|[Pp]erm|existe|inexist|trovato|negato|dossier|répertoire|zulässig|Verzeichnis"
    )
