"""Ahead: the recorded steps that follow a turn, and what the watches armed there say over them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pmem.core.bank import MemoryBank
from pmem.core.history import History
from pmem.core.step import ACTING_KINDS, Step
from pmem.core.watch import Watches

if TYPE_CHECKING:
    from pmem.training.episode import Episode

#: Steps looked at after a turn.
LOOKED_AHEAD = 30


@dataclass(frozen=True, slots=True)
class Following:
    """One recorded step after a turn: whether a reminder was wanted before it, and of what."""

    step: Step
    wanted: bool | None = None
    about: str = ""


def fired(episode: Episode, ids: Collection[str]) -> Iterator[tuple[bool | None, str, str]]:
    """When the watches of some entries speak: whether a reminder was wanted then, what it should
    tell, and what they say. Heard before the action they met."""
    turn = episode.turn
    kept = [entry for id, entry in episode.bank.entries.items() if id in ids]
    moment = replace(turn.moment, bank=MemoryBank("", kept), given=())
    watches, history = Watches(), History()
    watches.arm(moment.bank, moment.project)
    for step in turn.moment.window:
        watches.passed(step, history.observe(step), moment.project)
    for following in turn.ahead:
        step = following.step
        met = watches.proposed(step.proposed, moment) if step.kind in ACTING_KINDS else []
        met = met or watches.observed(step, history.observe(step), moment)
        if met:
            watches.spoke(met[0].reminder)
            yield following.wanted, following.about, met[0].reminder.text
