"""Moment: everything a memory agent may look at when it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pmem.core.bank import MemoryBank
from pmem.core.decision import Trigger
from pmem.core.history import History
from pmem.core.step import Action, Step


class Changed(StrEnum):
    """Whether a file of the project changed after a given time, as far as can be told fast."""

    NO = "no"
    YES = "yes"
    UNKNOWN = "unknown"


def unknown_changes(since: float) -> Changed:
    """The answer where nobody can look at the files (replay)."""
    return Changed.UNKNOWN


@dataclass(frozen=True, slots=True)
class Given:
    """A reminder that reached the agent: after which step, and its text."""

    step: int
    text: str
    delivery: str = ""


@dataclass(frozen=True)
class Moment:
    """One call of the memory agent.

    `window` is the last k steps of this trajectory, `history` what all its commands did,
    `rules_files` the rule files the agent was given, as (path, text), `proposed` the action
    about to run, if that is what is asked. `changed_since(t)` looks whether a project file
    changed after Unix time t, bounded in time. `message` is the agent's closing text at the finish,
    where it is told.
    """

    trigger: Trigger
    task: str
    window: Sequence[Step]
    bank: MemoryBank
    history: History
    proposed: Action | None = None
    rules_files: Sequence[tuple[str, str]] = ()
    user_messages: Sequence[tuple[int, str]] = ()
    project: str = ""
    session: str = ""
    changed_since: Callable[[float], Changed] = field(default=unknown_changes)
    given: Sequence[Given] = ()
    watches: Mapping[str, str] = field(default_factory=dict)
    message: str = ""

    @property
    def last_step(self) -> Step | None:
        """The newest step, None before the first."""
        return self.window[-1] if self.window else None
