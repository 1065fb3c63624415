"""Word lists and patterns as data; each file is read when it is first needed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The contents of NAME.toml in this package."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
