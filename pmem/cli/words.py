"""Small words of the reports."""

from __future__ import annotations

import os
import time
from pathlib import Path


def count(number: int, one: str, many: str = "") -> str:
    """A number and its noun.

    >>> count(1, "entry"), count(2, "entry"), count(0, "step")
    ('1 entry', '2 entries', '0 steps')
    """
    if number == 1:
        return f"1 {one}"
    if not many:
        many = one[:-1] + "ies" if one.endswith("y") else one + "s"
    return f"{number} {many}"


def shown(path: Path, cwd: Path) -> str:
    """A path as the user would type it here: relative if it is near."""
    near = os.path.relpath(path, cwd)
    return near if not near.startswith(f"..{os.sep}..") else os.fspath(path)


def ago(seconds: float) -> str:
    """An age in one unit.

    >>> ago(5), ago(600), ago(200000)
    ('5 s', '10 min', '2 days')
    """
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{max(int(seconds), 0) // unit} {name}"
    return f"{int(seconds) // 86400} days"


def clock(unix: float | None) -> str:
    """The local time of day, empty if unknown."""
    return "" if unix is None else time.strftime("%H:%M:%S", time.localtime(unix))
