"""Whether what a reminder tells stands in the last step already: the fact and what follows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from pmem.core.data import table
from pmem.core.tokens import tokens

_CLAUSE = re.compile(r"[.;!?](?=\s|$)|[。；！？\n()（）“”「」]|,\s+(?:and|but)\s|\s(?:—|–)\s")
_QUOTED = re.compile(r"(?<!says: )(?<!said: )“([^“”]*)”(?=[.:：。)])")
#: Of the words of a clause so many must stand near each other for it to be seen.
_SHARE = 0.8
#: Only of clauses of so few words all must be seen.
_FEW = 4


def visible(text: str, observation: str) -> bool:
    """Whether an observation shows all that a reminder tells.

    Every clause must be there, and one of them must say what follows: a symptom alone, however
    plain, does not tell that it came before or what helped.
    """
    if not observation:
        return False
    clauses = list(_clauses(text))
    letters = observation.casefold()
    for clause, _ in clauses:  # mostly a word is missing, and that is seen at once
        if not _enough(sum(word in letters for word in clause), len(clause)):
            return False
    follows = False
    seen = tokens(observation)
    present = set(seen)
    for clause, is_symptom in clauses:
        wanted = clause & present
        if not _enough(len(wanted), len(clause)) or not _together(wanted, len(clause), seen):
            return False
        follows = follows or not is_symptom
    return follows


def _clauses(text: str) -> Iterable[tuple[frozenset[str], bool]]:
    """The telling words of each clause, and whether it tells only what went wrong.

    The words of an output, quoted, belong to what is said of it.
    """
    text = _QUOTED.sub(r"\1", text)
    for pattern in (*_patterns("steps"), *_patterns("attribution")):
        text = pattern.sub(" ", text)
    for clause in _CLAUSE.split(text):
        words = frozenset(tokens(clause)) - _stop()
        if words:
            yield words, _any("symptom", clause) and not _any("remedy", clause)


def _enough(found: int, wanted: int) -> bool:
    return found >= wanted * _SHARE if wanted >= _FEW else found == wanted


def _together(wanted: frozenset[str], size: int, seen: Sequence[str]) -> bool:
    """Whether enough of the words stand within one short stretch of the observation."""
    stretch = max(12, 3 * size)
    inside: Counter[str] = Counter()
    distinct = 0
    for at, word in enumerate(seen):
        if word in wanted:
            inside[word] += 1
            distinct += inside[word] == 1
            if _enough(distinct, size):
                return True
        left = seen[at - stretch] if at >= stretch else ""
        if left in wanted:
            inside[left] -= 1
            distinct -= inside[left] == 0
    return False


def _any(section: str, clause: str) -> bool:
    return any(pattern.search(clause) for pattern in _patterns(section))


@cache
def _patterns(section: str) -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(p, re.IGNORECASE | re.MULTILINE) for p in table("guard")[section]["patterns"]
    )


@cache
def _stop() -> frozenset[str]:
    return frozenset(tokens(table("guard")["stop"]["words"]))
