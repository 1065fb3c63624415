"""Session: the order of things. Events come in, steps are recorded, the memory agent is asked,
the guard looks, and one answer goes back.

Everything outside (bank file, log, clock, files) is handed in, so that a replay runs the very
same ring over a recorded run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pmem.core.decision import Decision, Delivery, Silence, Trigger
from pmem.core.event import (
    SILENT,
    Answer,
    Compacting,
    Ended,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.step import Action, Step
from pmem.core.trigger import trigger
from pmem.session.guests import Guests
from pmem.session.hands import Hands
from pmem.session.lane import Lane
from pmem.session.outside import Channel, Outside
from pmem.session.scribe import Scribe, Tally
from pmem.session.thinking import silence_of, too_late
from pmem.session.voice import Voice

#: Agents remembered at a time, subagents among them; who was not heard longest is forgotten, and
#: begins anew with what the bank knows.
MAX_LANES = 32


class Session:
    """One session of one or more action agents on one bank."""

    def __init__(
        self,
        outside: Outside,
        *,
        id: str,
        project: str = "",
        task: str = "",
        interval: int = 5,
        window: int = 8,
        hold: str = "sure",
        deliver: str = "both",
        first_number: int = 1,
        name: str = "",
    ) -> None:
        self.id = id
        self.name = name or (outside.memory.name if outside.memory is not None else "off")
        self.project = project
        self.interval = interval
        self.window = window
        self.task = outside.redact(task)
        self.outside = outside
        self.tally = Tally()
        self.scribe = Scribe(
            outside, self.tally, session=id, project=project, first_number=first_number
        )
        self.voice = Voice(outside, self.scribe, hold=hold, deliver=deliver)
        self.lanes: dict[str | None, Lane] = {}
        self.guests = Guests()
        self.hands = Hands()
        outside.bank.at_work = self.hands.at_work
        self._has_model = outside.thinking is not None or hasattr(outside.memory, "mind")

    def handle(self, event: Event, channel: Channel) -> Answer:
        """Take one event in and say what to answer: at most one reminder, mostly nothing."""
        self.hands.before(event, channel)
        self.outside.watch_settings(self.hands.at_work())
        answer = self._answer(event, channel)
        self.hands.after(event, channel, held=answer.hold)
        return answer

    def _answer(self, event: Event, channel: Channel) -> Answer:
        self.outside.bank.refresh()
        self.take_thoughts()
        match event:
            case Proposed(action, agent_id):
                return self._proposed(self._lane(agent_id), self.scribe.cleaned(action), channel)
            case Observed(step):
                return self._observed(self._lane(step.agent_id), step, channel)
            case UserMessage(text, agent_id):
                return self._said_by_user(self._lane(agent_id), text, channel)
            case Compacting(agent_id):
                return self._compacting(self._lane(agent_id), channel)
            case Finished(message, agent_id):
                return self._finished(self._lane(agent_id), message, channel)
            case Started(how, agent_id, past):
                if how == "clear" or past:
                    self._unsaid(self.lanes.pop(agent_id, None), "its trajectory has ended")
                if past:
                    self._catch_up(self._lane(agent_id), past)
                if how == "compact":
                    return self._compacted(self._lane(agent_id), channel)
                return SILENT
            case Ended():
                return SILENT

    def take_thoughts(self) -> None:
        """Take in what the model came to: its work on the bank now, its reminder with an event."""
        thinking = self.outside.thinking
        for pending in thinking.collect() if thinking is not None else ():
            if pending.thought.ops:
                self.scribe.apply(pending.thought.ops)
            lane = self.lanes.get(pending.thought.lane)
            why = silence_of(pending.thought) or ("" if lane else "its trajectory has ended")
            if why or lane is None:
                self.voice.drop(pending, why)
                continue
            self._unsaid(lane, "a newer one took its place")
            lane.pending = pending

    def close(self) -> None:
        """The session is over: nobody waits for a model longer than a moment."""
        self.voice.settle()
        if self.outside.thinking is not None:
            self.outside.thinking.mind.close()
            self.take_thoughts()
        for lane in self.lanes.values():
            self._unsaid(lane, "the session ended before the next event")

    def _unsaid(self, lane: Lane | None, why: str) -> None:
        """Record what a model came to for this lane and is not said any more."""
        if lane is not None and lane.pending is not None:
            self.voice.drop(lane.pending, why)
            lane.pending = None

    @property
    def steps_known(self) -> int:
        """How many steps are numbered so far, those of a resumed conversation among them."""
        return self.scribe.next_number - 1

    @property
    def new_entries(self) -> int:
        """How many entries of the bank this session made."""
        return len(self.outside.bank.bank.entries.keys() & self.tally.made)

    # -- the ring ---------------------------------------------------------------------------

    def _proposed(self, lane: Lane, action: Action, channel: Channel) -> Answer:
        self._open(lane)
        if action.kind == "command" and self.outside.is_private(action.text):
            return SILENT
        moment = self._moment(lane, Trigger.PROPOSED, action)
        candidates: list[Decision] = [f.reminder for f in lane.watches.proposed(action, moment)]
        if self.outside.memory is not None:
            candidates.append(self.outside.memory.decide(moment))
        return self.voice.say(lane, moment, candidates, channel, Delivery.WITH_RESULT)

    def _observed(self, lane: Lane, step: Step, channel: Channel) -> Answer:
        self._open(lane)
        step = self.scribe.numbered(step)
        repeated = step.kind == "command" and bool(lane.history.attempts(step.proposed))
        first = not lane.trajectory.recent
        facts = self.scribe.record(lane, step)
        self.tally.steps += 1
        self.scribe.fold([(step, facts)])
        pulled = trigger(facts, first=first, repeated=repeated, interval=self.interval)
        moment = self._moment(lane, pulled or Trigger.INTERVAL)
        fired = lane.watches.observed(step, facts, moment)
        candidates: list[Decision] = [f.reminder for f in fired]
        if pulled is not None:
            candidates += self._ask(moment)
        asks = pulled is not None and not (step.kind == "compaction" and lane.kept)
        candidates += self._think(lane, moment, channel, asks=asks)
        if step.kind == "compaction":  # the digest goes where the agent reads it: with `Started`,
            lane.compaction = "" if lane.compaction == "told" else "due"
            lane.kept = False
            return SILENT
        if lane.compaction == "due":  # or with the next event, where there is none
            lane.compaction = ""
            candidates[:0] = self._digest(replace(moment, trigger=Trigger.COMPACTION))
        return self.voice.say(lane, moment, candidates, channel, Delivery.BEFORE)

    def _said_by_user(self, lane: Lane, text: str, channel: Channel) -> Answer:
        self._learn_task(lane, text)
        step = Step(0, "user", "", text, agent_id=lane.agent_id, started=self.outside.clock())
        return self._observed(lane, step, channel)

    def _finished(self, lane: Lane, message: str, channel: Channel) -> Answer:
        self._open(lane)
        moment = replace(self._moment(lane, Trigger.FINISH), message=self.outside.redact(message))
        candidates: list[Decision] = [f.reminder for f in lane.watches.finish(moment)]
        candidates += self._ask(moment)
        candidates += self._think(lane, moment, channel, asks=True)
        return self.voice.say(lane, moment, candidates, channel, Delivery.LATE)

    def _compacting(self, lane: Lane, channel: Channel) -> Answer:
        """Phase 1 runs over what is about to be lost; the agent hears nothing of it now."""
        self._open(lane)
        lane.kept = True
        moment = self._moment(lane, Trigger.COMPACTION)
        if self.outside.memory is not None:
            self.scribe.keep(self.outside.memory.manage(moment))
        self._think(lane, moment, channel, asks=True)
        return SILENT

    def _compacted(self, lane: Lane, channel: Channel) -> Answer:
        """The agent goes on from a summary: what it must not lose is told, once a compaction."""
        self._open(lane)
        lane.compaction = "" if lane.compaction == "due" else "told"
        moment = self._moment(lane, Trigger.COMPACTION)
        return self.voice.say(lane, moment, self._digest(moment), channel, Delivery.BEFORE)

    def _catch_up(self, lane: Lane, past: Sequence[Step]) -> None:
        """Take in what was done before pmem was there; nothing is said to that.

        What an earlier session recorded is in the bank already.
        """
        self._learn_task(lane, next((s.observation for s in past if s.kind == "user"), ""))
        self._open(lane)
        lane.watches.arm(self.outside.bank.bank, self.project)
        known = self.outside.recorded([step.call_id for step in past if step.call_id])
        fresh: list[tuple[Step, Facts]] = []
        for step in map(self.scribe.numbered, past):
            facts = self.scribe.record(lane, step)
            lane.watches.passed(step, facts, self.project)
            if step.call_id not in known:
                fresh.append((step, facts))
        self.scribe.fold(fresh)
        if self.outside.memory is not None:
            self.scribe.keep(self.outside.memory.manage(self._moment(lane, Trigger.USER_MESSAGE)))

    # -- who is asked -----------------------------------------------------------------------

    def _ask(self, moment: Moment) -> list[Decision]:
        """Both phases of the paper: the bank is managed before anything is decided."""
        memory = self.outside.memory
        if memory is None:
            return []
        self.scribe.keep(memory.manage(moment))
        decision = memory.decide(replace(moment, bank=self.outside.bank.bank))
        if isinstance(decision, Silence):
            self.scribe.keep(decision.ops)
        return [decision]

    def _digest(self, moment: Moment) -> list[Decision]:
        return [self.outside.memory.decide(moment)] if self.outside.memory is not None else []

    def _think(
        self, lane: Lane, moment: Moment, channel: Channel, *, asks: bool
    ) -> Sequence[Decision]:
        """Ask the model if `asks`; what it has come to for this lane, if that still holds."""
        thinking = self.outside.thinking
        if thinking is None:
            return ()
        if asks:
            may_wait = channel.name != "shell"  # a prompt is never held back that long
            thinking.ask(lane.agent_id, moment, may_wait=may_wait)
            self.take_thoughts()
        if lane.pending is None:
            return ()
        why = too_late(lane.pending, moment, self.window)
        if why:
            self._unsaid(lane, f"too late: {why}")
            return ()
        return (lane.pending.thought.decision,)

    # -- what they are asked with -----------------------------------------------------------

    def _lane(self, agent_id: str | None) -> Lane:
        lane = self.lanes.pop(agent_id, None)
        if lane is not None:
            self.lanes[agent_id] = lane  # the one heard last stands last
        else:
            if len(self.lanes) >= MAX_LANES:
                gone = next(id for id in self.lanes if id is not None)
                self._unsaid(self.lanes.pop(gone), "its trajectory has ended")
            lane = self.guests.lane(agent_id, self.task, self._lane)
            self.lanes[agent_id] = lane
            lane.watches.strange = self.outside.bank.strange
            lane.watches.arm(self.outside.bank.bank)
        return lane

    def _learn_task(self, lane: Lane, text: str) -> None:
        """The user's first words are the task, unless one was given."""
        if not text or (lane.trajectory.task if lane.guest else self.task):
            return
        lane.trajectory.task = self.outside.redact(text)
        if not lane.guest:
            self.task = lane.trajectory.task
            self.outside.log.describe(task=self.task)

    def _open(self, lane: Lane) -> None:
        """Step 0: the task and the rule files are read before the first action."""
        if lane.opened:
            return
        lane.opened = True
        self.scribe.begin()
        if self.outside.memory is not None:
            self.scribe.keep(self.outside.memory.manage(self._moment(lane, Trigger.FIRST_STEP)))

    def _moment(self, lane: Lane, why: Trigger, proposed: Action | None = None) -> Moment:
        return Moment(
            trigger=why,
            task=lane.trajectory.task if lane.guest else self.task,
            window=lane.trajectory.window(self.window * (3 if why is Trigger.COMPACTION else 1)),
            bank=self.outside.bank.bank,
            history=lane.history,
            proposed=proposed,
            rules_files=self.outside.rule_files(),
            user_messages=lane.trajectory.user_messages,
            project=self.project,
            session=self.id,
            changed_since=self.outside.changed_since,
            given=tuple(lane.given),
            watches=lane.watches.states(self.project) if self._has_model else {},
        )
