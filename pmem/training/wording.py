"""Wording: what a text tells, where it has it from, and how much of it is copied."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from pmem.core.data import table
from pmem.core.moment import Moment
from pmem.core.tokens import tokens

Words = tuple[str, ...]

#: So many words in a row that stand elsewhere are copied from there.
RUN = 8
#: What can be made up and looked up: what has a digit, an underscore or a dot inside.
_CHECKED = re.compile(r"\d|_|\w\.\w")
#: Parts of a path, a place in a file, a range.
_JOINTS = re.compile(r"[/:,()\[\]=–+-]+")


def telling(text: str) -> frozenset[str]:
    """The words of a text that say something by themselves."""
    return frozenset(tokens(text)) - _stop()


def facts(text: str, steps: int = 0) -> frozenset[str]:
    """The numbers, names of files and identifiers of a text, in their parts; numbers up to `steps`
    may be those of steps and are left out."""
    parts = (part.strip(".") for word in tokens(text) for part in _JOINTS.split(word))
    return frozenset(
        part
        for part in parts
        if _CHECKED.search(part) and not (part.isdecimal() and int(part) <= steps)
    )


def made_up(text: str, known: str, steps: int = 0) -> float:
    """The share of a text's facts that stand nowhere in what is known, a text in lower case; 0
    where it tells none."""
    told = facts(text, steps)
    return sum(part not in known for part in told) / len(told) if told else 0.0


def same_matter(text: str, other: str) -> float:
    """How much two texts tell of one matter, in [0, 1]: Dice's coefficient of their telling
    words."""
    a, b = telling(text), telling(other)
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def copied(text: str, shown: frozenset[Words]) -> float:
    """The share of a text's runs of words that are among those of other texts."""
    runs = runs_of([text])
    return len(runs & shown) / len(runs) if runs else 0.0


def runs_of(texts: Iterable[str]) -> frozenset[Words]:
    """All runs of eight words that stand in some texts."""
    found: set[Words] = set()
    for text in texts:
        words = tokens(text)
        found.update(tuple(words[n : n + RUN]) for n in range(len(words) - RUN + 1))
    return frozenset(found)


def places(moment: Moment) -> Iterator[str]:
    """What a memory agent is shown at a moment and could copy: task, rule files, window."""
    yield moment.task
    yield from (text for _, text in moment.rules_files)
    for step in moment.window:
        yield f"{step.action}\n{step.observation}\n{step.thought}"


def known_at(moment: Moment) -> str:
    """All that a memory agent can know at a moment: what it is shown, the user's words, and the
    bank as it is."""
    return "\n".join((*places(moment), *_besides(moment)))


def _besides(moment: Moment) -> Iterator[str]:
    yield from (path for path, _ in moment.rules_files)
    yield from (text for _, text in moment.user_messages)
    yield from (f"{step.cwd} {step.exit_code}" for step in moment.window)
    for entry in moment.bank.entries.values():
        yield f"{entry.id} {entry.content}\n{entry.command}\n{entry.failure}\n{entry.output}"
    yield moment.bank.status


@cache
def _stop() -> frozenset[str]:
    return frozenset(tokens(table("guard")["stop"]["words"]))
