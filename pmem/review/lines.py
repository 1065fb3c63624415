"""Lines of styled pieces, measured in cells: cut, padded, wrapped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pmem.core.text import clean
from pmem.terminal.cells import fit, width, wrap

#: A piece of a line: its style (a class of style.py) and its text.
Piece = tuple[str, str]
Line = list[Piece]


def plain(text: object) -> str:
    """Any text as it can be shown: no control characters, tabs as blanks."""
    return clean(str(text)).expandtabs(4)


def flat(text: object) -> str:
    """The same on one line."""
    return " ⏎ ".join(part.strip() for part in plain(text).split("\n") if part.strip())


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
