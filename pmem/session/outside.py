"""What a session needs from outside, handed in so that a replay can hand in something else."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pmem.core.bank import BankOp, Entry, Mark, MemoryBank
from pmem.core.gate import Gate
from pmem.core.moment import Changed, unknown_changes
from pmem.core.quiet import Quiet
from pmem.core.step import Step
from pmem.memory.protocol import MemoryAgent
from pmem.session.thinking import Thinking


class BankHolder(Protocol):
    """Where the bank lives: a file, or memory only in a replay."""

    bank: MemoryBank
    #: Ids that reminders cite: they stay when the bank is full.
    cited: set[str]
    #: Whether an agent's step is under way, as `Hands.at_work` tells it.
    at_work: Callable[[], str]
    #: Ids of entries that came with a bank from elsewhere.
    strange: frozenset[str]

    def refresh(self) -> bool:
        """Take in what others wrote since; True if there was anything."""
        ...

    def apply(self, ops: Sequence[BankOp]) -> object:
        """Carry operations out now; on disk they may follow later."""
        ...


class Log(Protocol):
    """Where steps and decisions are recorded."""

    def step(self, step: Step) -> None: ...

    def decision(self, record: dict[str, Any]) -> None: ...

    def describe(self, *, task: str) -> None:
        """The task is known now."""
        ...


@dataclass(frozen=True, slots=True)
class Channel:
    """What the way to the action agent can do with an answer to a proposed action.

    `held_for` are the reasons for which it may put an action back, None for every one. One that
    `confirms` tells afterwards whether what was to be held really was.
    """

    name: str
    can_hold: bool = False
    held_for: frozenset[str] | None = None
    confirms: bool = False


@dataclass(frozen=True)
class Outside:
    """All that a session needs from outside; the defaults serve a replay.

    `memory` answers at once, `thinking` is a model that takes its time.
    """

    bank: BankHolder
    log: Log
    memory: MemoryAgent | None
    thinking: Thinking | None = None
    #: Looks whether the settings changed, told whether an agent's step is under way.
    watch_settings: Callable[[str], None] = lambda at_work: None
    redact: Callable[[str], str] = str
    is_private: Callable[[str], bool] = lambda command: False
    rule_files: Callable[[], Sequence[tuple[str, str]]] = tuple
    changed_since: Callable[[float], Changed] = unknown_changes
    quiet: Callable[[], Quiet] = Quiet
    #: Which of these calls, by their ids, an earlier session recorded.
    recorded: Callable[[Sequence[str]], Container[str]] = frozenset
    #: What to write down of entries whose files changed, or are cited for the first time.
    marks: Callable[[Iterable[Entry]], Sequence[Mark]] = lambda entries: ()
    #: Whether no other session of the project runs: then the status is nobody's.
    alone: Callable[[], bool] = lambda: False
    #: What was learned of when to speak; it can only refuse.
    gate: Gate = field(default_factory=Gate)
    clock: Callable[[], float] = time.time
