"""What models cost in a day, over all sessions and projects of the user: one file a day."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from pmem.store import files, jsonl

#: Below the state directory of the user.
FOLDER = "spending"
#: Days whose files are kept.
KEEP = 90


class Spending:
    """Today's spending. Never raises: what cannot be written is not counted over sessions.

    `clock` gives Unix seconds; the day is the local one.
    """

    def __init__(self, state_home: Path, clock: Callable[[], float] = time.time) -> None:
        self.dir = state_home / FOLDER
        self._clock = clock
        self._own: dict[str, tuple[int, float]] = {}

    def add(self, tokens: int, money: float) -> None:
        """A memory step took so much."""
        day = self._day()
        before = self._own.get(day, (0, 0.0))
        self._own = {day: (before[0] + tokens, before[1] + money)}
        with contextlib.suppress(OSError):
            files.private_dir(self.dir)
            fd = files.open_append(self.dir / f"{day}.jsonl")
            try:
                record = {"time": round(self._clock(), 3), "tokens": tokens, "money": money}
                jsonl.append(fd, jsonl.encode(record))
            finally:
                os.close(fd)

    def total(self) -> tuple[int, float]:
        """Tokens and US dollars of today."""
        day = self._day()
        tokens, money = 0, 0.0
        with contextlib.suppress(OSError):
            for record in jsonl.Lines(self.dir / f"{day}.jsonl"):
                tokens += int(_number(record.get("tokens")))
                money += _number(record.get("money"))
        own = self._own.get(day, (0, 0.0))
        return max(tokens, own[0]), max(money, own[1])

    def _day(self) -> str:
        return time.strftime("%Y-%m-%d", time.localtime(self._clock()))


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
