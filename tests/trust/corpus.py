"""Secrets and look-alikes, made up from a seed out of the kinds in secret_kinds.toml."""

from __future__ import annotations

import random
import re
import string
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: How many of each kind are made.
EACH = 8
_LETTERS = string.ascii_letters + string.digits
_ALPHABETS = {
    "an": _LETTERS,
    "url": _LETTERS + "-_",
    "b64": _LETTERS + "+/",
    "b32": string.ascii_uppercase + "234567",
    "hex": "0123456789abcdef",
    "dig": string.digits,
    "up": string.ascii_uppercase,
    "UPdig": string.ascii_uppercase + string.digits,
}
_HOLE = re.compile(r"«(\w+)(?: (\d+))?»")
_SECRET = re.compile(r"⟦(.*?)⟧", re.DOTALL)


@dataclass(frozen=True)
class Sample:
    """One made-up line; `parts` are the words of it that must not be seen anywhere."""

    kind: str
    text: str
    parts: tuple[str, ...] = ()


def secrets(seed: int = 9) -> list[Sample]:
    """At least 300 secrets of at least 40 kinds."""
    made = []
    for kind, text in _made("secrets", seed):
        inner = _SECRET.search(text)
        assert inner is not None, kind
        made.append(Sample(kind, _SECRET.sub(r"\1", text), _parts(inner[1])))
    return made


def look_alikes(seed: int = 9) -> list[Sample]:
    """At least 300 lines in which nothing is secret."""
    return [Sample(kind, text) for kind, text in _made("look_alikes", seed)]


def _made(table: str, seed: int) -> Iterator[tuple[str, str]]:
    kinds = tomllib.loads(Path(__file__).with_name("secret_kinds.toml").read_text("utf-8"))
    for kind, template in kinds[table].items():
        dice = random.Random(f"{seed} {kind}")
        for _ in range(EACH):
            yield kind, _HOLE.sub(lambda hole, dice=dice: _value(hole, dice), template)


def _value(hole: re.Match[str], dice: random.Random) -> str:
    if hole[1] == "PK":  # a scanner of repositories shall not stumble over the words
        return " ".join(("OPENSSH", "PRIVATE", "KEY"))
    alphabet, length = _ALPHABETS[hole[1]], int(hole[2])
    text = "".join(dice.choice(alphabet) for _ in range(length))
    if hole[1] in ("an", "url", "b64", "b32", "UPdig") and length > 2:
        # Of letters and digits both, not a separator at an end: as issuers make them.
        middle = text[1:-2] if length > 3 else text[1:2]
        digit = dice.choice("234567")
        text = f"{dice.choice('ABCDEFGH')}{middle}{digit}{dice.choice('ABCDEFGH')}"[:length]
    return text


def _parts(secret: str) -> tuple[str, ...]:
    """Of a secret of several lines each line, of a long one also its beginning and end."""
    lines = tuple(line for line in secret.split("\n") if line)
    long = tuple(part for line in lines if len(line) >= 32 for part in (line[:16], line[-16:]))
    return lines + long
