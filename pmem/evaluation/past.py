"""What memory would have done over a directory's own past runs, the oldest first, on one bank."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pmem.core.bank import Entry, MemoryBank
from pmem.core.history import History
from pmem.core.step import ACTING_KINDS, Step
from pmem.evaluation.replay import Said, replay
from pmem.memory.protocol import MemoryAgent


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run; `agent` is a word for its name."""

    agent: str
    header: Mapping[str, Any]
    steps: Sequence[Step]

    @property
    def began(self) -> float:
        """Unix seconds of the first step that tells its time, 0 if none does."""
        return next((step.started for step in self.steps if step.started), 0.0)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A reminder that would have been given, and the action that followed in truth."""

    run: str
    said: Said
    then: Step | None
    then_failed: bool


@dataclass
class Past:
    """All runs together."""

    sessions: int = 0
    steps: int = 0
    spoken: list[Spoken] = field(default_factory=list)
    bank: MemoryBank = field(default_factory=MemoryBank)

    @property
    def best(self) -> list[Spoken]:
        """The reminders after which the run went wrong in truth, those first, at most two."""
        return sorted(self.spoken, key=lambda one: not one.then_failed)[:2]

    @property
    def seeds(self) -> list[Entry]:
        """What is worth keeping: rules, facts and remedies, and the commands that failed."""
        return [
            entry
            for entry in self.bank.entries.values()
            if entry.section == "knowledge" or entry.failed_steps or entry.outcome == "diagnosis"
        ]


def look_back(
    runs: Iterable[Run],
    memory: Callable[[], MemoryAgent],
    redact: Callable[[str], str],
) -> Past:
    """Replay every run; what is read is redacted before anything is kept of it."""
    past = Past()
    for run in sorted(runs, key=lambda run: run.began):
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(run.began))
        name = f"{stamp}-{run.agent}"
        lines = [step.to_json() for step in run.steps]
        result = replay(run.header, lines, memory(), bank=past.bank, session=name, redact=redact)
        past.sessions += 1
        past.steps += len(run.steps)
        past.spoken += [spoken(name, one, run.steps) for one in result.said]
    return past


def spoken(run: str, said: Said, steps: Sequence[Step]) -> Spoken:
    """A reminder beside the first action of the agent after it."""
    then = next((s for s in steps if s.number >= said.before_step and s.kind in ACTING_KINDS), None)
    return Spoken(run, said, then, then is not None and History().observe(then).failed)
