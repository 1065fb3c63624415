"""Globs of the watch language: `*` any text, `?` one character, `[abc]`, `[!abc]`, `[[]` a bracket.

`*` also crosses `/` and line ends. Upper and lower case differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from unicodedata import normalize

#: A glob is written by hand or by a model; a longer one is a mistake.
MAX_GLOB = 400


@dataclass(frozen=True, slots=True)
class Glob:
    """A glob ready to match. `literal` is its longest run of plain characters, a fast first test;
    `open` says that it may begin anywhere (`*lint*`)."""

    text: str
    pattern: re.Pattern[str]
    literal: str
    open: bool

    def matches(self, subject: str) -> bool:
        """Whether the glob fits the whole subject."""
        if not subject.isascii():
            subject = normalize("NFC", subject)
        return self.literal in subject and self.pattern.match(subject) is not None


@lru_cache(maxsize=2048)
def compile_glob(text: str) -> Glob:
    """A glob from its text. Raises ValueError with the reason, as the end of a sentence."""
    text = normalize("NFC", text)
    if not text.strip():
        raise ValueError("is empty")
    if len(text) > MAX_GLOB:
        raise ValueError(f"is longer than {MAX_GLOB} characters")
    literals = _literals(text)
    if not any(literals):
        raise ValueError("matches everything; name at least one letter")
    return Glob(text, re.compile(translate(text)), max(literals, key=len), text[0] in "*?[")


def _literals(text: str) -> list[str]:
    """The runs of plain characters between the wildcards."""
    runs = [""]
    at = 0
    while at < len(text):
        char = text[at]
        if char in "*?":
            runs.append("")
        elif char == "[":
            end = _class_end(text, at)
            inside = text[at + 1 : end]
            if len(inside) == 1:
                runs[-1] += inside
            else:
                runs.append("")
            at = end
        else:
            runs[-1] += char
        at += 1
    return runs


def _class_end(text: str, start: int) -> int:
    """Where the class that opens at `start` closes."""
    at = start + 1
    if text[at : at + 1] == "!":
        at += 1
    end = text.find("]", at + 1)
    if end < 0:
        raise ValueError("has a [ that is never closed ([[] is a bracket itself)")
    for low, high in re.findall(r"(.)-(.)", text[at:end], re.DOTALL):
        if low > high:
            raise ValueError(f"has a range from {low!r} down to {high!r}")
    return end
