"""JSON that another program wrote, where it may be of any shape: what is no object is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def object_in(text: str) -> dict[str, Any]:
    """The object a text holds, {} if it holds no such thing."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def object_of(path: Path) -> dict[str, Any]:
    """The object a file holds, {} if it cannot be read, or holds no such thing."""
    try:
        return object_in(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return {}


def table(value: Any) -> dict[str, Any]:
    """An object as it is, {} for anything else."""
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[dict[str, Any]]:
    """The objects in a list, [] for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
