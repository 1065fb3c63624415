"""JSON that another program wrote, where it may be of any shape: what is no object is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pmem.core import json_text


def object_in(text: str) -> dict[str, Any]:
    """The object a text holds, {} if it holds no such thing."""
    try:
        found = json_text.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def object_of(path: Path) -> dict[str, Any]:
    """The object a file holds, {} if it cannot be read, or holds no such thing."""
    try:
        return object_in(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return {}
