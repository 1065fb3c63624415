"""TOML as we write it: one value a line, blocks for texts of several lines, no reflowing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'[\x00-\x08\x0a-\x1f\x7f"\\]')
_ESCAPED_IN_BLOCK = re.compile(r'[\x00-\x08\x0b-\x1f\x7f\\]|"(?="")|"\Z')
_SHORT = {"\b": "\\b", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def key(name: str) -> str:
    """A key, quoted only if it must be."""
    return name if _BARE_KEY.fullmatch(name) else string(name)


def string(text: str) -> str:
    """A basic string on one line."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def block(text: str) -> str:
    """A basic string over several lines, to be read like the text itself."""
    return '"""\n' + _ESCAPED_IN_BLOCK.sub(_escape, text) + '"""'


def value(thing: Any) -> str:
    """Any TOML value on one line. Raises TypeError for what TOML does not know."""
    if isinstance(thing, str):
        return string(thing)
    if isinstance(thing, bool):
        return "true" if thing else "false"
    if isinstance(thing, (int, float)):
        return repr(thing)
    if isinstance(thing, (datetime, date, time)):
        return thing.isoformat()
    if isinstance(thing, (list, tuple)):
        return "[" + ", ".join(value(inner) for inner in thing) + "]"
    if isinstance(thing, Mapping):
        pairs = ", ".join(f"{key(name)} = {value(inner)}" for name, inner in thing.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    raise TypeError(f"TOML has no {type(thing).__name__}")


def line(name: str, thing: Any) -> str:
    """`name = value` with its newline; a string of several lines as a block."""
    text = block(thing) if isinstance(thing, str) and "\n" in thing else value(thing)
    return f"{key(name)} = {text}\n"


def table(header: str, pairs: Mapping[str, Any]) -> str:
    """A header line such as `[status]` or `[[knowledge]]` and its pairs."""
    return header + "\n" + "".join(line(name, thing) for name, thing in pairs.items())


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _SHORT.get(char) or f"\\u{ord(char):04x}"
