"""Played: a model as the memory agent of a replay, where nobody waits and every call counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pmem.core.bank import BankOp
from pmem.core.decision import Decision
from pmem.core.moment import Moment
from pmem.memory.arms import Together
from pmem.models.protocol import Usage
from pmem.session.ledger import Ledger


class CannotGoOn(Exception):
    """The model is not to be asked any more: all that followed would be silence. Says why."""


@dataclass
class Taken:
    """What a model took: `failed` calls counted as silence, the latest reason in `failure`."""

    calls: int = 0
    failed: int = 0
    failure: str = ""
    usage: Usage = field(default_factory=Usage)
    money: float = 0.0

    def to_json(self) -> dict[str, object]:
        """As `pmem replay --json` tells it."""
        return {
            "calls": self.calls,
            "failed": self.failed,
            "input": self.usage.input,
            "output": self.usage.output,
            "cache_read": self.usage.cache_read,
            "cache_write": self.usage.cache_write,
            "money": round(self.money, 6),
        }


class Played:
    """A memory agent that adds up in `taken` what its model's calls took.

    It raises CannotGoOn where the model cannot be asked (no key, no such program) or a limit of
    the ledger is reached. `progress` is told the step at hand and the calls so far.
    """

    def __init__(
        self,
        agent: Together,
        ledger: Ledger,
        taken: Taken,
        progress: Callable[[int, int], None] = lambda step, calls: None,
    ) -> None:
        self.agent = agent
        self.mind = agent.mind
        self.name = agent.name
        self.ledger = ledger
        self.taken = taken
        self.progress = progress

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        """What the agent keeps."""
        self._begin(moment)
        ops = self.agent.manage(moment)
        self._count()
        return ops

    def decide(self, moment: Moment) -> Decision:
        """What the agent says."""
        self._begin(moment)
        decision = self.agent.decide(moment)
        self._count()
        return decision

    def _begin(self, moment: Moment) -> None:
        last = moment.last_step
        self.progress(last.number if last is not None else 0, self.taken.calls)

    def _count(self) -> None:
        exchanges = self.mind.drain()
        before = self.ledger.money
        self.ledger.enter(exchanges)
        self.taken.money += self.ledger.money - before
        for exchange in exchanges:
            self.taken.calls += 1
            self.taken.usage += exchange.usage
            if exchange.error:
                self.taken.failed += 1
                self.taken.failure = exchange.error
        why = self.mind.stopped or (self.ledger.spent() if exchanges else "")
        if why:
            raise CannotGoOn(why.replace(", rules only from here", ""))
