"""The one protocol of all memory agents: manage the bank, then decide (the paper's two phases)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pmem.core.bank import BankOp
from pmem.core.decision import Decision
from pmem.core.moment import Moment


class MemoryAgent(Protocol):
    """A second mind beside the action agent.

    The session calls `manage` after a step that triggers, applies the operations, and calls
    `decide` with the bank as it is then. When an action is proposed it calls only `decide`.
    What `decide` returns has still to pass the guard.
    """

    name: str

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        """Phase 1: the operations to carry out on the bank, in order; none is fine."""
        ...

    def decide(self, moment: Moment) -> Decision:
        """Phase 2: one reminder grounded in the bank, or silence with its reason."""
        ...
