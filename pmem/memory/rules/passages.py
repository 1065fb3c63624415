"""The sentences of a rule file or a message, each with the line it stands on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: A sentence longer than this is no rule (characters); a quote is cut there.
MAX_SENTENCE = 600
MAX_QUOTE = 160
#: Only so much of a text is looked at (characters).
MAX_TEXT = 200_000

_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|#{1,6}|>)\s+(?:\[[ xX]\]\s+)?")
_END = re.compile(r"(?<=[.!?])[*_\"”)]*\s+(?=\S)|(?<=[。!?])")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: its line (from 1), its text for matching, and as it is quoted."""

    line: int
    text: str

    @property
    def quote(self) -> str:
        """The sentence as it is told, shortened where it is long."""
        if len(self.text) <= MAX_QUOTE:
            return self.text
        return self.text[:MAX_QUOTE].rsplit(" ", 1)[0] + " …"


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences outside code blocks. A bullet, a heading or an empty line begins anew."""
    for start, lines in _blocks(text[:MAX_TEXT]):
        joined, offsets = "", []
        for line in lines:
            offsets.append(len(joined))
            joined += line.strip() + " "
        for begin, part in _split(joined.rstrip()):
            stripped = part.strip().replace("**", "").replace("__", "")
            if 4 <= len(stripped) <= MAX_SENTENCE:
                nth = max(i for i, offset in enumerate(offsets) if offset <= begin)
                yield Sentence(start + nth, stripped)


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    block: list[str] = []
    start = 0
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        elif fenced or line.lstrip().startswith(("<!--", "|")):
            line = ""
        bullet = _BULLET.match(line)
        if block and (bullet or not line.strip()):
            yield start, block
            block = []
        if line.strip():
            if not block:
                start = number
            block.append(line[bullet.end() :] if bullet else line)
    if block:
        yield start, block


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Sentences and where they begin; an end inside backticks is none."""
    begin = 0
    for end in _END.finditer(text):
        if text.count("`", begin, end.start()) % 2 == 0:
            yield begin, text[begin : end.start()]
            begin = end.end()
    yield begin, text[begin:]
