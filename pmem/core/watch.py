"""Watches at run time: which stored conditions an action, an observation or the finish meets.

The session feeds every proposed action, every finished step and every finish, and tells with
`spoke` which reminder was given; only that counts as fired. Nothing here calls a model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pmem.core.bank import Entry, MemoryBank
from pmem.core.costly import costly
from pmem.core.decision import Reminder
from pmem.core.deeds import Deeds
from pmem.core.effect import Effect, effect
from pmem.core.failure import is_refused
from pmem.core.history import Facts
from pmem.core.meets import meets
from pmem.core.moment import Moment
from pmem.core.sight import Sight, sight
from pmem.core.step import ACTING_KINDS, Action, Step
from pmem.core.text import quotation, shorten
from pmem.core.when import Watch, parse_watch

__all__ = ["Fired", "State", "Watch", "Watches", "costly", "parse_watch"]

#: Texts of finish watches that are told in one reminder; the others are named.
MAX_AT_FINISH = 4
#: Proposed actions remembered, so that their step is not looked at a second time.
MAX_PROPOSED = 64


class State(StrEnum):
    """How a watch stands: for prompts, for review, for `pmem bank show`."""

    ARMED = "armed"
    #: It was told as often as it may be.
    SPENT = "spent"
    #: It cannot fire any more: its step is past, or what it asks for was done for good.
    STALE = "stale"
    #: It cannot be read; `Watches.problem` says why.
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Fired:
    """A watch whose condition is met: the reminder it makes, and what met it."""

    reminder: Reminder
    matched: str


@dataclass(slots=True)
class _Slot:
    """One entry's watch, and how often it was told."""

    entry: Entry
    watch: Watch | None
    problem: str = ""
    #: The entry was there before this session, so its `until_step` counts another one's steps.
    from_before: bool = False
    told: int = 0
    told_at: int | None = None
    #: What a command must hold, so that most watches are passed over at once.
    needle: str = ""


class Watches:
    """The watches of a bank over one trajectory.

    `strange` holds the ids of entries that came with somebody else's bank: what they say is quoted,
    and they hold nothing.
    """

    def __init__(self) -> None:
        self.strange: Container[str] = ()
        self._slots: dict[str, _Slot] = {}
        self._deeds = Deeds()
        self._proposed: deque[tuple[str, str]] = deque(maxlen=MAX_PROPOSED)
        self._step = 0
        self._started = False

    # -- what the session feeds ---------------------------------------------------------------

    def arm(self, bank: MemoryBank, project: str = "") -> None:
        """Take over the watches of the bank as it is now; those that stayed the same keep count."""
        changed = not bank.entries.keys() >= self._slots.keys()
        if changed:
            self._slots = {id: s for id, s in self._slots.items() if id in bank.entries}
        for id, entry in bank.entries.items():
            slot = self._slots.get(id)
            if entry.when is None:
                if slot is not None:
                    del self._slots[id]
                    changed = True
            elif slot is None or (slot.entry is not entry and slot.entry.when != entry.when):
                self._slots[id] = _slot(entry, entry.when, from_before=not self._started)
                changed = True
            else:
                slot.entry = entry
        self._started = True
        if changed:
            watches = [slot.watch for slot in self._slots.values() if slot.watch is not None]
            self._deeds.follow_only(watches)
            for watch in watches:
                self._deeds.follow(watch, project)

    def proposed(self, action: Action, moment: Moment) -> list[Fired]:
        """The watches that an action about to run meets, the best one first."""
        self.arm(moment.bank, moment.project)
        self._proposed.append(_call(action))
        if not self._slots or action.kind not in ACTING_KINDS:
            return []
        return self._met(sight(action, moment.project), action, moment.project)

    def observed(self, step: Step, facts: Facts, moment: Moment) -> list[Fired]:
        """The watches that a finished step meets, the best one first.

        Those on its output; those on its action too if the action was not proposed before.
        """
        self.arm(moment.bank, moment.project)
        fired: list[Fired] = []
        if self._slots and step.kind in ACTING_KINDS and not is_refused(step):
            action = step.proposed
            seen = sight(action, moment.project)
            known = _call(action) in self._proposed
            fired = self._met(seen, action, moment.project, step.observation, known=known)
        self.passed(step, facts, moment.project)
        return fired

    def passed(self, step: Step, facts: Facts, project: str = "") -> None:
        """Take in a finished step to which nothing is said."""
        self._step = max(self._step, step.number)
        if step.kind in ACTING_KINDS and not is_refused(step):
            self._deeds.take(step, facts, sight(step.proposed, project), project)

    def finish(self, moment: Moment) -> list[Fired]:
        """All finish watches that hold at the end of a turn, as one; empty if none does."""
        self.arm(moment.bank, moment.project)
        met = [
            slot
            for slot in self._slots.values()
            if slot.watch is not None
            and slot.watch.finish
            and self._may_fire(slot, slot.watch)
            and not (slot.watch.unless_ran and self._deeds.ran(slot.watch, moment.project))
        ]
        met.sort(key=lambda slot: slot.entry.source != "user")
        met = [slot for slot in met if slot.entry.id not in self.strange]
        return [_at_finish(met)] if met else []

    def spoke(self, reminder: Reminder) -> None:
        """A reminder was given: if watches made it, they have fired."""
        if not reminder.reason.startswith("watch:"):
            return
        for id in reminder.entries:
            slot = self._slots.get(id)
            if slot is not None:
                slot.told += 1
                slot.told_at = self._step

    # -- what may be asked --------------------------------------------------------------------

    def state(self, id: str, project: str = "") -> State | None:
        """How the watch of an entry stands, None if it has none."""
        slot = self._slots.get(id)
        if slot is None:
            return None
        watch = slot.watch
        if watch is None:
            return State.BROKEN
        if slot.told >= watch.times:
            return State.SPENT
        met_for_good = (
            watch.unless_ran and watch.since == "ever" and self._deeds.ran(watch, project)
        )
        return State.STALE if met_for_good or self._past(slot, watch) else State.ARMED

    def states(self, project: str = "") -> dict[str, State]:
        """How every watch stands, by the id of its entry."""
        found = ((id, self.state(id, project)) for id in self._slots)
        return {id: state for id, state in found if state is not None}

    def problem(self, id: str) -> str:
        """Why a watch is broken, "" if it is not."""
        slot = self._slots.get(id)
        return slot.problem if slot is not None else ""

    def may_hold(self, reminder: Reminder, action: Action) -> bool:
        """Whether `hold = "watch"` lets this reminder put this action back.

        Never one that the agent wrote itself, or that came out of a step.
        """
        slots = [slot for id in reminder.entries if (slot := self._slots.get(id)) is not None]
        if any(slot.entry.source.startswith(("agent", "step ")) for slot in slots):
            return False
        if any(slot.entry.id in self.strange for slot in slots):
            return False
        return reminder.reason.startswith("watch:") and costly(action)

    # -- how it is decided --------------------------------------------------------------------

    def _may_fire(self, slot: _Slot, watch: Watch) -> bool:
        return (
            slot.told < watch.times and slot.told_at != self._step and not self._past(slot, watch)
        )

    def _past(self, slot: _Slot, watch: Watch) -> bool:
        if watch.until_step is None:
            return False
        of_another_session = slot.from_before and slot.entry.source != "user"
        return of_another_session or self._step >= watch.until_step

    def _met(
        self,
        seen: Sight,
        action: Action,
        project: str,
        observation: str | None = None,
        *,
        known: bool = False,
    ) -> list[Fired]:
        met: list[tuple[_Slot, str]] = []
        for slot in self._slots.values():
            if slot.needle and slot.needle not in seen.text:
                continue
            watch = slot.watch
            if watch is None or watch.finish:
                continue
            due = observation is not None if watch.output else observation is None or not known
            if not due:
                continue
            matched = meets(watch, seen, project, self._deeds, observation)
            if matched is not None and self._may_fire(slot, watch):
                met.append((slot, matched))
        met.sort(key=lambda m: (m[0].entry.source != "user", -_precision(m[0])))
        harmless = effect(action) is Effect.READS
        return [Fired(self._known(slot, harmless), matched) for slot, matched in met]

    def _known(self, slot: _Slot, harmless: bool) -> Reminder:
        reminder = _reminder(slot, harmless)
        if slot.entry.id not in self.strange:
            return reminder
        said = quotation(shorten(slot.entry.content, 45, 300))
        return replace(reminder, text=f"An entry of a bank from elsewhere says: {said}", sure=False)


def _slot(entry: Entry, when: Mapping[str, Any], *, from_before: bool) -> _Slot:
    try:
        watch = parse_watch(when)
        return _Slot(entry, watch, from_before=from_before, needle=watch.needle)
    except ValueError as error:
        return _Slot(entry, None, problem=str(error), from_before=from_before)


def _precision(slot: _Slot) -> int:
    return slot.watch.precision if slot.watch is not None else 0


def _call(action: Action) -> tuple[str, str]:
    """What an action and its later step have in common."""
    return (action.call_id, "") if action.call_id else (action.kind, action.text)


def _reminder(slot: _Slot, harmless: bool) -> Reminder:
    entry = slot.entry
    cause = f"watch:{entry.id}"
    return Reminder(
        entry.content,
        (entry.id,),
        reason=cause,
        cause=cause if slot.told == 0 else f"{cause}#{slot.told + 1}",
        # A person wrote down when to be heard; a mere look is still not worth holding for.
        sure=entry.source == "user" and not harmless,
    )


def _at_finish(slots: list[_Slot]) -> Fired:
    """Several finish watches as one reminder; texts are shortened to share its room."""
    if len(slots) == 1:
        return Fired(_reminder(slots[0], harmless=True), "finish")
    told, named = slots[:MAX_AT_FINISH], slots[MAX_AT_FINISH:]
    texts = [shorten(s.entry.content, 56 // len(told), 360 // len(told)) for s in told]
    if named:
        texts.append(f"(+{len(named)})")
    ids = tuple(slot.entry.id for slot in slots)
    times = max(slot.told for slot in slots)
    cause = "watch:" + "+".join(ids)
    return Fired(
        Reminder(
            " ".join(texts),
            ids,
            reason="watch:finish",
            cause=cause if times == 0 else f"{cause}#{times + 1}",
        ),
        "finish",
    )
