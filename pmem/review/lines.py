"""Lines of styled pieces, measured in cells: cut, padded, wrapped."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from wcwidth import wcwidth

from pmem.core.text import clean
from pmem.terminal.cells import fit, wrap

#: A piece of a line: its style (a class of style.py) and its text.
Piece = tuple[str, str]
Line = list[Piece]


#: Skin tones, and the choice between picture and letter: they change the width of what they follow
#: in some terminals, and in others not.
_VARIANTS = re.compile("[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]")
_FLAG_A = 0x1F1E6


def plain(text: object) -> str:
    """Any text as it can be shown: no control characters, tabs as blanks.

    Every character keeps a width that all terminals agree on, or what stands right of it would be
    painted into the wrong cells: joined emoji are shown side by side, a flag as its two letters,
    a Korean syllable that comes in parts as one; what turns the direction of writing is left out.
    """
    kept = clean(str(text)).expandtabs(4)
    if kept.isascii():
        return kept
    kept = _VARIANTS.sub("", unicodedata.normalize("NFC", kept))
    return "".join(map(_steady, kept))


@cache
def _steady(character: str) -> str:
    if _FLAG_A <= ord(character) < _FLAG_A + 26:
        return chr(ord("A") + ord(character) - _FLAG_A)
    if character == "\n":
        return character
    kind = unicodedata.category(character)
    if kind in ("Zl", "Zp"):
        return " "
    return "" if kind in ("Cc", "Cf", "Cs") else character


def flat(text: object) -> str:
    """The same on one line."""
    return " ⏎ ".join(part.strip() for part in plain(text).split("\n") if part.strip())


def width(text: str) -> int:
    """How many cells a plain text takes where each character is painted by itself, as
    prompt-toolkit paints: a vowel sign of Hindi takes one with its letter, and none alone."""
    return sum(max(wcwidth(character), 0) for character in text)


def cells(line: Iterable[Piece]) -> int:
    """How wide a line is."""
    return sum(width(text) for _, text in line)


def fitted(line: Sequence[Piece], room: int, fill: str = "") -> Line:
    """The line cut or padded to so many cells; `fill` is the style of the padding."""
    made: Line = []
    left = room
    for style, text in line:
        if left <= 0:
            break
        wide = width(text)
        if wide > left:
            text = fit(text, left)
            wide = width(text)
        made.append((style, text))
        left -= wide
        if text.endswith("…") and wide < width(line[len(made) - 1][1]):
            break
    if left > 0:
        made.append((fill, " " * left))
    return made


def wrapped(text: object, room: int, style: str = "", indent: int = 0) -> list[Line]:
    """A text in lines of at most `room` cells, set in by `indent`."""
    lines = wrap(plain(text), max(room - indent, 8))
    return [[("", " " * indent), (style, line)] for line in lines]


def restyled(line: Iterable[Piece], style: str) -> Line:
    """Every piece in one style."""
    return [(style, text) for _, text in line]


def counted(number: int, one: str, many: str = "") -> str:
    """A number and its noun: `1 step`, `2 steps`, `3 entries`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
