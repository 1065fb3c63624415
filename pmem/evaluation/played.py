"""Played: a model as the memory agent of a replay, where nobody waits and every call counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pmem.core.bank import BankOp
from pmem.core.decision import Decision
from pmem.core.moment import Moment
from pmem.memory.arms import Together
from pmem.session.ledger import Ledger


class CannotGoOn(Exception):
    """The model is not to be asked any more: all that followed would be silence. Says why."""


@dataclass
class Taken:
    """What a model took: `failed` calls counted as silence, the latest reason in `failure`."""

    ledger: Ledger
    failed: int = 0
    failure: str = ""

    def to_json(self) -> dict[str, object]:
        """As `pmem replay --json` tells it."""
        usage = self.ledger.usage
        return {
            "calls": self.ledger.calls,
            "failed": self.failed,
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "money": round(self.ledger.money, 6),
        }


class Played:
    """A memory agent that adds up in `taken` what its model's calls took.

    It raises CannotGoOn where the model cannot be asked (no key, no such program) or a limit of
    the ledger is reached. `progress` is told the step at hand and the calls so far.
    """

    def __init__(
        self,
        agent: Together,
        taken: Taken,
        progress: Callable[[int, int], None] = lambda step, calls: None,
    ) -> None:
        self.agent = agent
        self.mind = agent.mind
        self.name = agent.name
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
        self.progress(last.number if last is not None else 0, self.taken.ledger.calls)

    def _count(self) -> None:
        exchanges = self.mind.drain()
        ledger = self.taken.ledger
        ledger.enter(exchanges)
        for exchange in exchanges:
            if exchange.error:
                self.taken.failed += 1
                self.taken.failure = exchange.error
        why = self.mind.stopped or (ledger.spent() if exchanges else "")
        if why:
            raise CannotGoOn(why.replace(", rules only from here", ""))
