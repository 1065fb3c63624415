"""Text by display cells: how wide it is, and how it is wrapped, in every script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wcwidth import wcswidth, wcwidth

ELLIPSIS = "…"

#: Scripts written without spaces, where a line may break between any two characters.
_UNSPACED = (
    "\u2e80-\u303f\u3041-\u30ff\u3105-\u312f\u3190-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"\s+|[{_UNSPACED}]|[^\s{_UNSPACED}]+")
#: What no line may begin with, and what no line may end with.
_CLINGS_BACK = frozenset(
    "、。，．・：；？！゛゜ヽヾゝゞ々ー’”）〕］｝〉》」』】ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ"
)
_CLINGS_ON = frozenset("‘“（〔［｛〈《「『【")

_JOINER = "\u200d"


def width(text: str) -> int:
    """How many cells the text takes; what cannot be measured counts one a character."""
    cells = wcswidth(text)
    return cells if cells >= 0 else sum(max(wcwidth(c), 0) for c in text)


def clusters(text: str) -> Iterator[str]:
    """The text in pieces that must stay together: letters with their marks, joined emoji."""
    piece = ""
    for character in text:
        flag = "\U0001f1e6" <= character <= "\U0001f1ff"
        joins = (
            wcwidth(character) == 0
            or "\U0001f3fb" <= character <= "\U0001f3ff"
            or piece.endswith(_JOINER)
            or (flag and len(piece) == 1 and "\U0001f1e6" <= piece <= "\U0001f1ff")
        )
        if piece and not joins:
            yield piece
            piece = ""
        piece += character
    if piece:
        yield piece


def fit(text: str, cells: int) -> str:
    """The text, or its beginning and `…`, in at most so many cells."""
    if width(text) <= cells:
        return text
    out = ""
    for cluster in clusters(text):
        if width(out + cluster) > cells - 1:
            break
        out += cluster
    return out.rstrip() + ELLIPSIS if cells > 0 else ""


def wrap(text: str, cells: int) -> list[str]:
    """The text in lines of at most `cells` (at least 2), broken at spaces where there are any.

    Line breaks in the text are kept, and blanks but where a line is broken: code stays code.
    """
    cells = max(cells, 2)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.extend(_wrap_paragraph(paragraph, cells))
    return lines


def _wrap_paragraph(text: str, cells: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for token in _tokens(text):
        if token.isspace():
            line += token if width(line + token) < cells else " " if line else ""
            continue
        if width(line + token) <= cells:
            line += token
            continue
        if line.strip():
            lines.append(line.rstrip())
        line = ""
        for piece in _cut(token, cells):
            if width(line + piece) > cells:
                lines.append(line)
                line = ""
            line += piece
    if line.strip() or not lines:
        lines.append(line.rstrip())
    return lines


def _tokens(text: str) -> Iterator[str]:
    """Words, blanks and single characters of unspaced scripts, with what clings to them."""
    token = ""
    for piece in _TOKEN.findall(text):
        clings = token and (piece[0] in _CLINGS_BACK or token[-1] in _CLINGS_ON)
        if clings and not piece.isspace() and not token.isspace():
            token += piece
            continue
        if token:
            yield token
        token = piece
    if token:
        yield token


def _cut(token: str, cells: int) -> Iterator[str]:
    """A token as a whole, or, if no line can hold it, its clusters."""
    if width(token) <= cells:
        yield token
    else:
        yield from clusters(token)
