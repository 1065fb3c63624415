"""Splice: JSON text with the place of each value, so that words can be put in between.

What stands around them keeps its very bytes: nothing is ever written anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_value = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Place:
    """A value and where its text begins and ends, in characters of the whole."""

    value: Any
    start: int
    end: int


#: What is put in: at which character, and what.
Insertion = tuple[int, str]


def members(text: str, at: int = 0, array: str | None = None) -> dict[str, Place]:
    """The members of the object that begins at `at`.

    The member named `array` is taken apart: its value is the list of its elements' places. What
    follows the object is not looked at. Raises ValueError if it is no object, or has a key twice.
    """
    at = _after(text, at, "{")
    found: dict[str, Place] = {}
    if text[at : at + 1] == "}":
        return found
    while True:
        if text[at : at + 1] != '"':
            raise ValueError(f"no key at character {at}")
        key, at = _value(text, at)
        at = _after(text, at, ":")
        if key in found:
            raise ValueError(f"the key {key!r} stands twice")
        if key == array and text[at : at + 1] == "[":
            parts, end = elements(text, at)
            found[key] = Place(parts, at, end)
        else:
            value, end = _value(text, at)
            found[key] = Place(value, at, end)
        at, closed = _next(text, end, "}")
        if closed:
            return found


def elements(text: str, at: int) -> tuple[list[Place], int]:
    """The elements of the array that begins at `at`, and where it ends. Raises ValueError."""
    at = _after(text, at, "[")
    found: list[Place] = []
    if text[at : at + 1] == "]":
        return found, at + 1
    while True:
        value, end = _value(text, at)
        found.append(Place(value, at, end))
        at, closed = _next(text, end, "]")
        if closed:
            return found, at


def inserted(text: str, insertions: Sequence[Insertion]) -> str:
    """The text with everything put in at its place; two of one place stay in their order."""
    parts: list[str] = []
    at = 0
    for place, words in sorted(insertions, key=lambda one: one[0]):
        parts += [text[at:place], words]
        at = place
    return "".join([*parts, text[at:]])


def last_in(text: str, array: Place, element: Any) -> Insertion:
    """Put an element at the end of an array."""
    comma = ", " if array.value else ""
    return array.end - 1, comma + json.dumps(element)


def behind(item: Place, element: Any) -> Insertion:
    """Put an element behind an element."""
    return item.end, ", " + json.dumps(element)


def longer(string: Place, words: str) -> Insertion:
    """Put words at the end of a string."""
    return string.end - 1, json.dumps(words)[1:-1]


def _after(text: str, at: int, sign: str) -> int:
    """The place of what follows the sign that stands next."""
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"no {sign} at character {at}")
    return _skip(text, at + 1)


def _next(text: str, at: int, closing: str) -> tuple[int, bool]:
    at = _skip(text, at)
    sign = text[at : at + 1]
    if sign == closing:
        return at + 1, True
    if sign != ",":
        raise ValueError(f"neither , nor {closing} at character {at}")
    return _skip(text, at + 1), False


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
