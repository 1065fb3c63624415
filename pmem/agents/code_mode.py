"""Code mode: the calls of tools inside the JavaScript that a model wrote (Codex's `exec`)."""

from __future__ import annotations

import re
from typing import Any

from pmem.core import json_text

_CALL = re.compile(r"\btools\.(?P<tool>\w+)\(\s*")
_TEXT = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`"
_MEMBER = re.compile(rf"[{{,]\s*[\"']?(?P<name>\w+)[\"']?\s*:\s*(?P<value>{_TEXT})", re.DOTALL)
_ALONE = re.compile(rf"(?P<value>{_TEXT})\s*\)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}


def nested(code: str) -> list[tuple[str, dict[str, Any] | str]]:
    """The calls `tools.NAME({key: "text"})` and `tools.NAME("text")`, in their order.

    What is computed at run time cannot be read here, and is left out.
    """
    found: list[tuple[str, dict[str, Any] | str]] = []
    calls = list(_CALL.finditer(code))
    ends = [call.start() for call in calls[1:]] + [len(code)]
    for call, end in zip(calls, ends, strict=False):
        rest = code[call.end() : end]
        alone = _ALONE.match(rest)
        if alone:
            found.append((call["tool"], _text(alone["value"])))
        elif rest.startswith("{"):
            given = {m["name"]: _text(m["value"]) for m in _MEMBER.finditer(rest)}
            found.append((call["tool"], given))
    return found


def _text(literal: str) -> str:
    """The value of a JavaScript string."""
    if literal[0] == '"':
        try:
            return str(json_text.loads(literal))
        except ValueError:
            pass
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)
