"""Recorded: one session as review reads it, a page at a time, while it may still grow."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

from pmem.core import json_text
from pmem.core.decision_line import settled
from pmem.core.step import Step
from pmem.review.records import Records
from pmem.store.session_log import DECISIONS, STEPS, read_call
from pmem.store.sessions import SessionInfo, session_info

#: Steps kept once they were read.
KEPT = 2000
#: How much of a file is looked through between two looks at the keyboard, in bytes.
CHUNK = 1 << 22
#: Calls of a model kept once they were read.
MAX_CALLS = 8

_NUMBER = re.compile(rb'^\{"(?:step|before_step)":\s*(\d+)')
_FAILED = re.compile(rb'"exit_code": ?-?[1-9]|"is_error": ?true')
_SPOKE = re.compile(rb'"decision": ?"remind"')


class Mark(IntEnum):
    """What memory did at a step, the most telling last."""

    NOTHING = 0
    #: It looked, and there was nothing to say.
    SILENT = 1
    #: There was a candidate, and it was not said.
    HELD_BACK = 2
    SPOKE = 3
    #: It put the action back.
    HELD = 4


def mark_of(decision: Mapping[str, Any]) -> Mark:
    """The mark of one decision."""
    if decision.get("decision") == "remind":
        return Mark.HELD if decision.get("hold") else Mark.SPOKE
    return Mark.HELD_BACK if decision.get("candidate") else Mark.SILENT


class Recorded:
    """A session's steps and decisions by step number.

    A decision belongs to the step before which it was made; what was decided after the last step
    belongs to that one.
    """

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.steps = Records(info.path / STEPS, "step", _step)
        self.decisions = Records(info.path / DECISIONS, "before_step", settled)
        self.first = self.steps.first() or 0
        self.last = self.steps.last() or 0
        self._step: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._decided: dict[int, list[dict[str, Any]]] = {}
        self._calls: dict[int, dict[str, Any] | None] = {}
        self._known: tuple[int, int] = (0, 0)
        self._stamps = self._sizes()

    @property
    def count(self) -> int:
        """How many steps there are."""
        return self.last - self.first + 1 if self.last else 0

    def refresh(self) -> bool:
        """Take in what was appended since; True if there was anything."""
        sizes = self._sizes()
        if sizes == self._stamps:
            return False
        self._stamps = sizes
        self.last = self.steps.last() or self.last
        self.first = self.first or self.steps.first() or 0
        self._known = (0, 0)
        try:
            self.info = session_info(self.info.path)
        except FileNotFoundError:
            return True
        return True

    def step(self, number: int) -> dict[str, Any] | None:
        """One step, None for a number whose line cannot be read."""
        if number not in self._step:
            self.page(number, number)
        return self._step.get(number)

    def page(self, first: int, last: int) -> list[tuple[int, dict[str, Any] | None]]:
        """The steps of these numbers."""
        wanted = range(max(first, self.first), min(last, self.last) + 1)
        missing = [n for n in wanted if n not in self._step]
        if missing:
            for record in self.steps.between(missing[0], missing[-1]):
                self._step[record["step"]] = record
            while len(self._step) > KEPT:
                self._step.popitem(last=False)
        return [(n, self._step.get(n)) for n in wanted]

    def decided(self, number: int) -> list[dict[str, Any]]:
        """The decisions at a step, oldest first."""
        low, high = self._known
        if not low <= number < high:
            low = max(number - 100, 0)
            high = number + 100
            self._known, self._decided = (low, high), {}
            end = 1 << 62 if self.last < high else high
            for decision in self.decisions.between(low, end):
                at = self.place(decision["before_step"])
                self._decided.setdefault(at, []).append(decision)
        return self._decided.get(number, [])

    def place(self, number: int) -> int:
        """The step that a decision made before this one belongs to."""
        return min(max(number, self.first), self.last)

    def mark(self, number: int) -> Mark:
        """What memory did at a step."""
        return max(map(mark_of, self.decided(number)), default=Mark.NOTHING)

    def next_spoken(self, number: int, *, back: bool = False) -> int | None:
        """The nearest step after this one (or before) at which memory spoke, None if none is."""
        records = self.decisions
        if back:
            found = records.backward(records.find(min(number, self.last)))
        else:
            found = records.forward(records.find(number + 1))
        for _, decision in found:
            at = self.place(decision["before_step"])
            if decision.get("decision") == "remind" and at != number:
                return at
        return None

    def spoken(self) -> Iterator[dict[str, Any]]:
        """Every reminder, oldest first; other lines are passed over without being parsed."""
        for line in _lines(self.decisions):
            if _SPOKE.search(line):
                record = settled(_parsed(line))
                if record.get("decision") == "remind":
                    yield record

    def call(self, number: int) -> dict[str, Any] | None:
        """A call of the model as it was sent and answered."""
        if number not in self._calls:
            if len(self._calls) > MAX_CALLS:
                self._calls.clear()
            self._calls[number] = read_call(self.info.path, number)
        return self._calls[number]

    def _sizes(self) -> tuple[int, int]:
        return self.steps.size, self.decisions.size


class Hunt:
    """Looks through a session for steps, a piece at a time.

    `numbers` are those found so far, in order; `kind` is `failed`, `spoke`, or a text that stands
    in the step.
    """

    def __init__(self, recorded: Recorded, kind: str, text: str = "") -> None:
        self.numbers: list[int] = []
        self._records = recorded.decisions if kind == "spoke" else recorded.steps
        self._recorded = recorded
        self._kind = kind
        self._text = json.dumps(text, ensure_ascii=False)[1:-1].casefold()
        self._offset = 0

    @property
    def share(self) -> float:
        """How much is looked through, from 0 to 1."""
        return self._offset / self._records.size if self._records.size else 1.0

    def go_on(self, budget: int = CHUNK) -> bool:
        """Look through so many bytes more; True if there was more to look through."""
        if self._offset >= self._records.size:
            return False
        data, after = self._records.raw(self._offset, budget)
        if not data:
            return False
        self._offset = after
        known = set(self.numbers)
        for line in data.split(b"\n"):
            if self._fits(line):
                number = _NUMBER.match(line)
                at = int(number[1]) if number else None
                if at is None:
                    record = _parsed(line)
                    at = record.get(self._records.key)
                if isinstance(at, int):
                    at = self._recorded.place(at)
                    if at not in known:
                        known.add(at)
                        self.numbers.append(at)
        return True

    def _fits(self, line: bytes) -> bool:
        if self._kind == "failed":
            return _FAILED.search(line) is not None
        if self._kind == "spoke":
            return _SPOKE.search(line) is not None
        return self._text in line.decode("utf-8", "replace").casefold()


def _lines(records: Records) -> Iterator[bytes]:
    offset = 0
    while offset < records.size:
        data, offset = records.raw(offset, CHUNK)
        if not data:
            return
        yield from data.split(b"\n")


def _step(record: dict[str, Any]) -> dict[str, Any] | None:
    try:
        Step.from_json(record)
    except ValueError:
        return None
    return record


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        record = json_text.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def opened(path: Path) -> Recorded:
    """The session in a directory. Raises FileNotFoundError if it is gone."""
    return Recorded(session_info(path))
