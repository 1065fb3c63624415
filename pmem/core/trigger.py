"""Trigger: what makes the memory agent run after a step (the paper runs it at step % N == 0)."""

from __future__ import annotations

from pmem.core.decision import Trigger
from pmem.core.history import Facts


def trigger(facts: Facts, *, first: bool, repeated: bool, interval: int) -> Trigger | None:
    """Which trigger a finished step pulls, None for none.

    `first` is the first step of the trajectory, `repeated` says that the same command ran
    before, `interval` is MEMORY_INTERVAL in steps. The most telling trigger wins.
    """
    if facts.kind == "compaction":
        return Trigger.COMPACTION
    if facts.kind == "user":
        return Trigger.USER_MESSAGE
    if facts.failed:
        return Trigger.FAILURE
    if repeated:
        return Trigger.REPEAT
    if first:
        return Trigger.FIRST_STEP
    if interval > 0 and facts.number % interval == 0:
        return Trigger.INTERVAL
    return None
