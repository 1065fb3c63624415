"""Outputs without progress bars, the talk of package managers, and lines said many times."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path

from pmem.core.text import clean


def quiet(output: str) -> str:
    """An output without its noise. Lines repeated in a row stand once, with their number."""
    lines = [line.rstrip() for line in clean(output).split("\n")]
    kept = [line for line in lines if not _noise().search(line)]
    said: list[str] = []
    for line, same in groupby(kept):
        times = sum(1 for _ in same)
        if line:
            said.append(line if times == 1 else f"{line}  (x{times})")
        elif said:
            said.append("")
    return "\n".join(said).strip("\n")


@cache
def _noise() -> re.Pattern[str]:
    table = tomllib.loads(Path(__file__).with_name("noise.toml").read_text("utf-8"))
    return re.compile("|".join(f"(?:{p})" for p in table["patterns"]))
