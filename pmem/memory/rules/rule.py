"""Rule: one rung of the ladder, a pure function with a name and a switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pmem.core.bank import BankOp
from pmem.core.decision import Reminder
from pmem.core.moment import Moment


def _keeps_nothing(moment: Moment) -> Sequence[BankOp]:
    return ()


@dataclass(frozen=True, slots=True)
class Rule:
    """`look` finds what to say at this moment, or None; `keep` what to write into the bank.

    Both are pure: everything they know stands in the moment.
    """

    name: str
    look: Callable[[Moment], Reminder | None]
    keep: Callable[[Moment], Sequence[BankOp]] = _keeps_nothing
    #: Said to an agent at work on a task only: a person who types in a shell knows.
    agents_only: bool = False
