"""Voice: what is proposed to be said passes the guard, goes to who hears it, and is recorded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pmem.core.decision import Decision, Delivery, Reminder, Silence
from pmem.core.event import SILENT, Answer, Audience
from pmem.core.fold import is_our_own
from pmem.core.moment import Given, Moment
from pmem.core.said import MAX_CAUSES
from pmem.session.choice import READ_BY_PEOPLE, audience, choose, may_hold
from pmem.session.lane import Lane
from pmem.session.outside import Channel, Outside
from pmem.session.record import citations, decision_record
from pmem.session.scribe import Scribe
from pmem.session.thinking import Pending, unspoken


class _Hold(NamedTuple):
    """A hold of which is not yet known whether it came in time: its record, lane and cause."""

    record: dict[str, Any]
    lane: Lane
    cause: str


class Voice:
    """Speaks for one session; `hold` and `deliver` are the settings of these names."""

    def __init__(self, outside: Outside, scribe: Scribe, *, hold: str, deliver: str) -> None:
        self.outside = outside
        self.scribe = scribe
        self.hold = hold
        self.deliver = deliver
        self._unsure: _Hold | None = None

    def say(
        self,
        lane: Lane,
        moment: Moment,
        candidates: Sequence[Decision],
        channel: Channel,
        delivery: Delivery,
    ) -> Answer:
        """Let the best candidate through the guard; one step gets at most one reminder."""
        self.settle()
        if not candidates:
            return SILENT
        began = time.perf_counter()
        quiet = self.outside.quiet()

        def unwanted(reminder: Reminder) -> str:
            refused = quiet.refuses(reminder, self.scribe.session)
            return refused or self._from_elsewhere(reminder) or self.scribe.stale(reminder.entries)

        choice = choose(candidates, moment, lane, unwanted)
        verdict, answer = choice.verdict, SILENT
        if isinstance(verdict, Reminder):
            lane.said.add(verdict, moment)
            who = audience(self.deliver, channel)
            shut = self.outside.gate.refuses(verdict, moment)
            if shut:  # it counts as said: what it kept quiet before stays quiet
                lane.watches.spoke(verdict)
                verdict = Silence(shut)
            elif who is not None:
                answer = self._give(lane, verdict, moment, channel, delivery, who)
        elif choice.candidate is None and moment.proposed is not None:
            return SILENT  # a reflex without a candidate is no memory step
        record = decision_record(
            moment,
            choice.candidate,
            verdict,
            answer,
            channel=channel.name,
            before_step=self.scribe.next_number,
            now=self.outside.clock(),
            milliseconds=(time.perf_counter() - began) * 1000,
            cost=choice.cost,
        )
        if answer.hold and channel.confirms and isinstance(verdict, Reminder):
            self._unsure = _Hold(record, lane, verdict.cause)
        else:
            self.outside.log.decision(record)
        return answer

    def settle(self, held: bool = True) -> None:
        """Record the hold that is not recorded yet: as one, or, if the action ran all the same,
        as a reminder beside its result.
        """
        hold, self._unsure = self._unsure, None
        if hold is None:
            return
        if not held:
            hold.record.update(hold=False, delivery=str(Delivery.WITH_RESULT))
            hold.lane.held.discard(hold.cause)
            self.scribe.tally.holds -= 1
            if hold.lane.given:
                last = hold.lane.given.pop()
                hold.lane.given.append(replace(last, delivery=str(Delivery.WITH_RESULT)))
        self.outside.log.decision(hold.record)

    def _from_elsewhere(self, reminder: Reminder) -> str:
        """Why a reminder may not be said that repeats what a bank from elsewhere says.

        A watch quotes such an entry as what it is.
        """
        if reminder.reason.startswith("watch:"):
            return ""
        held = self.outside.bank
        told = [held.bank.get(id) for id in reminder.entries if id in held.strange]
        foreign = any(entry is not None and not is_our_own(entry) for entry in told)
        return "its entry came with a bank from elsewhere" if foreign else ""

    def drop(self, pending: Pending, why: str) -> None:
        """Record what a model came to and is not said."""
        self.outside.log.decision(
            unspoken(pending, why, before_step=self.scribe.next_number, now=self.outside.clock())
        )

    def _give(
        self,
        lane: Lane,
        reminder: Reminder,
        moment: Moment,
        channel: Channel,
        delivery: Delivery,
        who: Audience,
    ) -> Answer:
        heard = who != "human" or channel.name in READ_BY_PEOPLE
        held = heard and may_hold(lane, reminder, moment, channel, self.hold)
        if held:
            if len(lane.held) >= MAX_CAUSES:
                lane.held.pop()
            lane.held.add(reminder.cause)
            delivery = Delivery.BEFORE
        self.outside.bank.cited.update(reminder.entries)
        lane.watches.spoke(reminder)
        if heard:
            number = moment.last_step.number if moment.last_step else 0
            lane.given.append(Given(number, reminder.text, str(delivery)))
        self.scribe.tally.reminders += 1
        self.scribe.tally.holds += held
        told = delivery if heard else None
        return Answer(reminder, held, told, citations(reminder, moment.bank), who)
