"""Whether a reminder names something of this session, or gives advice that fits any."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from pmem.core.bank import Entry
from pmem.core.data import table
from pmem.core.tokens import tokens

_QUOTED = re.compile(
    r"`[^`\n]{2,}`|\"[^\"\n]{3,}\"|“[^”]{3,}”|「[^」]{2,}」|『[^』]{2,}』|(?<!\w)'[^'\n]{3,}'(?!\w)"
)
_PLACE = re.compile(
    r"(?<![\w/.])(?:~|\.{1,2})?/[\w.@-]+|\b[\w.@-]+(?:/[\w.@-]+)+/?|\b\w[\w-]+\.[A-Za-z]\w{0,4}\b"
)
_TOKEN = re.compile(
    r"(?<!\S)--?[A-Za-z][\w-]+|\b[A-Za-z]\w*_\w+|\b[a-z]+[A-Z]\w*|\b\w+\(\)|\b[A-Z]{2,}\d+\b"
    r"|\b(?:exit|port|line|HTTP|version|code)\s+v?\d|\bv?\d+\.\d+|\b\d{2,}\b(?!\s*%)|\bE[A-Z]{4,}\b"
    r"|(?:종료 코드|終了コード|退出码)\s*\d"
)
#: So many words in a row from an entry are its text.
_SHARED = 4


def concrete(text: str, cited: Iterable[Entry]) -> bool:
    """Whether a text names a step, a path, a command or the like, or tells what an entry says
    that came from somewhere: a person, a file, a step."""
    if any(pattern.search(text) for pattern in (*_steps(), _QUOTED, _TOKEN)):
        return True
    if any(_is_place(m[0]) for m in _PLACE.finditer(text)):
        return True
    return any(
        (entry.command and entry.command in text)
        or (entry.source not in ("", "model") and _shares(text, entry.content))
        for entry in cited
    )


def _is_place(word: str) -> bool:
    word = word.lower().rstrip(".")
    if word in _prose():
        return False
    # A lone slash also joins words: build/test, red/green.
    return word.count("/") != 1 or not re.fullmatch(r"[a-z]+/[a-z]+", word)


def _shares(text: str, content: str) -> bool:
    said, known = tokens(text), tokens(content)
    run = min(_SHARED, len(known))
    if run == 0:
        return False
    runs = {tuple(known[i : i + run]) for i in range(len(known) - run + 1)}
    return any(tuple(said[i : i + run]) in runs for i in range(len(said) - run + 1))


@cache
def _steps() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, re.IGNORECASE) for p in table("guard")["steps"]["patterns"])


@cache
def _prose() -> frozenset[str]:
    return frozenset(table("guard")["prose"]["words"].split())
