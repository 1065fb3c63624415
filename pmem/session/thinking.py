"""Thinking: how a session stands to its model. What it came to is taken in, and told when it holds.

The bank's operations are applied as soon as they are there; a reminder waits in its lane for the
next event, and is dropped if the work has gone on past it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pmem.core.decision import Reminder, Silence
from pmem.core.moment import Moment

if TYPE_CHECKING:
    from pmem.session.ledger import Ledger
    from pmem.session.mind import Mind, Thought


@dataclass(frozen=True, slots=True)
class Pending:
    """A reminder that waits for the next event, and what it took."""

    thought: Thought
    cost: Mapping[str, Any]


@dataclass
class Thinking:
    """The model of a session and its ledger.

    `given_up` says that nobody waits for an answer any more; `complain` receives the text of an
    unexpected error; `notes` are sentences for the user, each said once.
    """

    mind: Mind
    ledger: Ledger
    given_up: Callable[[], bool] = lambda: False
    complain: Callable[[str], None] = lambda text: None
    notes: list[str] = field(default_factory=list)

    def ask(self, lane: str | None, moment: Moment, *, may_wait: bool) -> None:
        """Hand a moment to the model; in sync mode wait for its answer."""
        if self.mind.ask(lane, moment) and self.mind.sync and may_wait:
            self.mind.wait(lane, self.given_up)

    def collect(self) -> list[Pending]:
        """What the model came to since, counted and kept; at a limit it is asked no more."""
        ready = []
        for thought in self.mind.collect():
            ready.append(Pending(thought, self.ledger.enter(thought.exchanges)))
            if thought.error:
                self.complain(thought.error)
        if ready and not self.mind.stopped:
            why = self.mind.agent.stopped or self.ledger.spent()
            if why:
                self.mind.stop(why)
                self.notes.append(why)
        return ready


def unspoken(pending: Pending, verdict: str, *, before_step: int, now: float) -> dict[str, Any]:
    """The line in decisions.jsonl of a thought that is not said. `now` is in Unix seconds."""
    thought = pending.thought
    record: dict[str, Any] = {
        "before_step": before_step,
        "time": round(now, 3),
        "trigger": str(thought.trigger),
        "decision": "silent",
        "verdict": verdict,
        "asked_at": thought.asked_at,
        "ops": [type(op).__name__ for op in thought.ops],
        "model": dict(pending.cost),
    }
    if isinstance(thought.decision, Reminder):
        record["candidate"] = thought.decision.text
        record["reason"] = thought.decision.reason
        record["cause"] = thought.decision.cause
    return record


def silence_of(thought: Thought) -> str | None:
    """Why the model says nothing, None if it has something to say."""
    return thought.decision.why if isinstance(thought.decision, Silence) else None


def too_late(pending: Pending, moment: Moment, window: int) -> str:
    """Why a waiting reminder is dropped, "" if it still holds. An ablation's is never held back."""
    decision = pending.thought.decision
    if isinstance(decision, Reminder) and decision.whole:
        return ""
    from pmem.session.mind import stale  # a session without a model does without it

    return stale(pending.thought, moment, window)
