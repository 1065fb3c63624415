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
    """One sentence: its line (from 1), its text, and the heading it stands under.

    `code` marks a line of a code block; `lead` stands over an item of a list: the line with a
    colon before it, else the heading.
    """

    line: int
    text: str
    heading: str = ""
    code: bool = False
    lead: str = ""

    @property
    def quote(self) -> str:
        """The sentence as it is told, shortened where it is long."""
        if len(self.text) <= MAX_QUOTE:
            return self.text
        return self.text[:MAX_QUOTE].rsplit(" ", 1)[0] + " …"


def sentences(text: str, *, code: bool = False) -> Iterator[Sentence]:
    """The sentences, and with `code` the lines of code blocks as well.

    A bullet, a heading or an empty line begins anew.
    """
    for block in _blocks(text[:MAX_TEXT]):
        if block.code:
            if code and block.lines[0].strip():
                yield Sentence(block.start, block.lines[0].strip(), block.heading, code=True)
            continue
        joined, offsets = "", []
        for line in block.lines:
            offsets.append(len(joined))
            joined += line.strip() + " "
        for begin, part in _split(joined.rstrip()):
            stripped = part.strip().replace("**", "").replace("__", "")
            if 4 <= len(stripped) <= MAX_SENTENCE:
                nth = max(i for i, offset in enumerate(offsets) if offset <= begin)
                lead = block.lead if begin == 0 else ""
                yield Sentence(block.start + nth, stripped, block.heading, lead=lead)


@dataclass(slots=True)
class _Block:
    start: int
    lines: list[str]
    heading: str
    code: bool = False
    lead: str = ""
    bullet: bool = False


def _blocks(text: str) -> Iterator[_Block]:
    block: _Block | None = None
    heading = lead = ""
    fenced = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        elif fenced:
            yield _Block(number, [line], heading, code=True)
            continue
        elif line.lstrip().startswith(("<!--", "|")):
            line = ""
        bullet = _BULLET.match(line)
        if block is not None and (bullet or not line.strip()):
            yield block
            if not block.bullet:
                lead = block.lines[-1].strip() if block.lines[-1].rstrip().endswith(":") else ""
            block = None
        if not line.strip():
            continue
        content = line[bullet.end() :] if bullet else line
        if bullet and line.lstrip().startswith("#"):
            heading, lead = content.strip(), ""
            yield _Block(number, [content], heading)
            continue
        if block is None:
            block = _Block(number, [], heading, bullet=bool(bullet))
            block.lead = (lead or heading) if bullet else ""
        block.lines.append(content)
    if block is not None:
        yield block


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Sentences and where they begin; an end inside backticks is none."""
    begin = 0
    for end in _END.finditer(text):
        if text.count("`", begin, end.start()) % 2 == 0:
            yield begin, text[begin : end.start()]
            begin = end.end()
    yield begin, text[begin:]
