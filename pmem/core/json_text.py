"""JSON that another program wrote."""

from __future__ import annotations

import json
import math
from typing import Any

#: The longest whole number that is read as one: longer ones do not fit into 64 bits.
LONGEST = 18


def loads(text: str | bytes | bytearray) -> Any:
    """The value a text holds (RFC 8259), with numbers that can be reckoned with.

    A number that is out of the range of 64 bits, and what JSON has no number for (NaN, Infinity),
    is read as its text: whoever wants a number finds none, and what is shown is what was written.
    Raises ValueError for anything that is no JSON, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_int=_whole, parse_float=_broken, parse_constant=str)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def table(value: Any) -> dict[str, Any]:
    """An object as it is, {} for anything else."""
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[dict[str, Any]]:
    """The objects in a list, [] for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """A text as it is, "" for anything else."""
    return value if isinstance(value, str) else ""


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST else digits


def _broken(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits
