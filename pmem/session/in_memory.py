"""A bank and a log without files: for a replay, and for a session that only warms up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pmem.core.bank import BankOp, MemoryBank
from pmem.core.step import Step


class BankInMemory:
    """A bank that nobody else writes."""

    def __init__(self, bank: MemoryBank | None = None) -> None:
        self.bank = bank or MemoryBank()
        self.cited: set[str] = set()
        self.at_work: Callable[[], str] = str
        self.strange: frozenset[str] = frozenset()

    def refresh(self) -> bool:
        """Nobody else writes it."""
        return False

    def apply(self, ops: Sequence[BankOp]) -> None:
        """Carry out what can be carried out."""
        for op in ops:
            try:
                self.bank.apply(op)
            except ValueError:
                continue


class LogInMemory:
    """Steps and decisions in lists."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.decisions: list[dict[str, Any]] = []
        self.task = ""

    def step(self, step: Step) -> None:
        """Keep it."""
        self.steps.append(step)

    def decision(self, record: dict[str, Any]) -> None:
        """Keep it."""
        self.decisions.append(record)

    def describe(self, *, task: str) -> None:
        """Keep the task."""
        self.task = task
