"""One table as pmem writes it, read in a tenth of the time that a whole TOML parser takes.

Sessions that share a bank read each other's entries all the time. What is not plain (escapes,
floats, inline tables, anything a person may have written) is left to the parser.
"""

from __future__ import annotations

import re
from typing import Any

_STRING = r'"(?P<string>[^"\\\x00-\x08\x0a-\x1f\x7f]*)"'
_BLOCK = r'"""\n(?P<block>(?:[^"\\\x00-\x08\x0b-\x1f\x7f]|"(?!""))*)"""'
_WHOLE = r"(?P<whole>-?(?:0|[1-9][0-9]{0,17}))"
_WHOLES = r"\[(?P<wholes>(?:(?:0|[1-9][0-9]{0,17})(?:, (?:0|[1-9][0-9]{0,17}))*)?)\]"
_STRINGS = r'\[(?P<strings>"[^"\\\x00-\x08\x0a-\x1f\x7f]*"(?:, "[^"\\\x00-\x08\x0a-\x1f\x7f]*")*)\]'
_LINE = re.compile(
    rf"(?P<key>[A-Za-z0-9_-]+) = (?:{_BLOCK}|{_STRING}|{_WHOLE}|{_WHOLES}|{_STRINGS})\n"
)
_HEADER = re.compile(r"\[\[(knowledge|procedural)\]\]\n")


def table(text: str) -> dict[str, Any] | None:
    """The section and its one table, as a TOML parser gives them; None where it is not plain."""
    header = _HEADER.match(text)
    if header is None:
        return None
    found: dict[str, Any] = {}
    at, end = header.end(), len(text.rstrip("\n")) + 1
    while at < end:
        line = _LINE.match(text, at)
        if line is None or line["key"] in found:
            return None
        found[line["key"]] = _value(line)
        at = line.end()
    return {header[1]: [found]}


def _value(line: re.Match[str]) -> Any:
    kind = line.lastgroup
    text = line[kind] if kind is not None else ""
    if kind == "whole":
        return int(text)
    if kind == "wholes":
        return [int(number) for number in text.split(", ")] if text else []
    if kind == "strings":
        return text[1:-1].split('", "')
    return text
