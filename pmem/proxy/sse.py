"""Server-sent events (WHATWG HTML, 9.2), as far as model services use them: their data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pmem.core import json_text


def objects(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects in a stream's data; other data, such as `[DONE]`, is passed over."""
    lines: list[str] = []
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for line in [*text.split("\n"), ""]:
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            whole, lines = "\n".join(lines), []
            try:
                found = json_text.loads(whole)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def whole(data: bytes) -> dict[str, Any]:
    """A reply that came in one piece. Raises ValueError if it is no JSON object."""
    found = json_text.loads(data)
    if not isinstance(found, dict):
        raise ValueError("a reply must be a JSON object")
    return found
