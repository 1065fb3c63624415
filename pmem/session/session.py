"""Session: the order of things. Events come in, steps are recorded, the memory agent is asked,
the guard looks, and one answer goes back.

Everything outside (bank file, log, clock, files) is handed in, so that a replay runs the very
same ring over a recorded run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pmem.core.bank import BankOp, UpdateStatus
from pmem.core.decision import Decision, Delivery, Reminder, Silence, Trigger
from pmem.core.event import (
    SILENT,
    Answer,
    Audience,
    Ended,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.history import Facts
from pmem.core.moment import Given, Moment
from pmem.core.step import Action, Step
from pmem.core.trajectory import Trajectory
from pmem.core.trigger import trigger
from pmem.session.choice import READ_BY_PEOPLE, audience, choose, may_hold
from pmem.session.fold import attempt
from pmem.session.lane import Lane
from pmem.session.outside import Channel, Outside
from pmem.session.private import withheld
from pmem.session.record import citations, decision_record
from pmem.session.thinking import Pending, silence_of, too_late, unspoken


@dataclass
class Tally:
    """What the end line tells."""

    steps: int = 0
    reminders: int = 0
    holds: int = 0
    made: set[str] = field(default_factory=set)


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
        self.hold = hold
        self.deliver = deliver
        self.task = outside.redact(task)
        self.outside = outside
        self._has_model = outside.thinking is not None or hasattr(outside.memory, "mind")
        self.lanes: dict[str | None, Lane] = {}
        self.tally = Tally()
        self._next_number = first_number

    def handle(self, event: Event, channel: Channel) -> Answer:
        """Take one event in and say what to answer: at most one reminder, mostly nothing."""
        self.outside.bank.refresh()
        self.take_thoughts()
        match event:
            case Proposed(action, agent_id):
                return self._proposed(self._lane(agent_id), self._clean_action(action), channel)
            case Observed(step):
                return self._observed(self._lane(step.agent_id), step, channel)
            case UserMessage(text, agent_id):
                return self._said_by_user(self._lane(agent_id), text, channel)
            case Finished(message, agent_id):
                return self._finished(self._lane(agent_id), message, channel)
            case Started(how, agent_id, past):
                if how == "clear" or past:
                    self.lanes.pop(agent_id, None)
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
                self._apply(pending.thought.ops)
            lane = self.lanes.get(pending.thought.lane)
            why = silence_of(pending.thought) or ("" if lane else "its trajectory has ended")
            if why or lane is None:
                self._unspoken(pending, why)
                continue
            if lane.pending is not None:
                self._unspoken(lane.pending, "a newer one took its place")
            lane.pending = pending

    def close(self) -> None:
        """The session is over: nobody waits for a model longer than a moment."""
        if self.outside.thinking is not None:
            self.outside.thinking.mind.close()
            self.take_thoughts()

    @property
    def steps_known(self) -> int:
        """How many steps are numbered so far, those of a resumed conversation among them."""
        return self._next_number - 1

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
        fired = lane.watches.proposed(action, moment)
        candidates: list[Decision] = [f.reminder for f in fired]
        if self.outside.memory is not None:
            candidates.append(self.outside.memory.decide(moment))
        return self._deliver(lane, moment, candidates, channel, Delivery.WITH_RESULT)

    def _observed(self, lane: Lane, step: Step, channel: Channel) -> Answer:
        self._open(lane)
        if step.kind == "command" and self.outside.is_private(step.action):
            step = withheld(step)
        return self._take_in(lane, self._numbered(step), channel)

    def _said_by_user(self, lane: Lane, text: str, channel: Channel) -> Answer:
        if not self.task:
            self.task = lane.trajectory.task = self.outside.redact(text)
            self.outside.log.describe(task=self.task)
        self._open(lane)
        step = Step(0, "user", "", text, agent_id=lane.agent_id, started=self.outside.clock())
        return self._take_in(lane, self._numbered(step), channel)

    def _catch_up(self, lane: Lane, past: Sequence[Step]) -> None:
        """Take in what was done before pmem was there; nothing is said to that.

        What an earlier session recorded is in the bank already.
        """
        spoken = [step.observation for step in past if step.kind == "user"]
        if not self.task and spoken:
            self.task = lane.trajectory.task = self.outside.redact(spoken[0])
            self.outside.log.describe(task=self.task)
        self._open(lane)
        known = self.outside.recorded([step.call_id for step in past if step.call_id])
        for step in past:
            if step.kind == "command" and self.outside.is_private(step.action):
                step = withheld(step)
            step = self._numbered(step)
            facts = self._record(lane, step)
            lane.watches.observed(step, facts, self._moment(lane, Trigger.INTERVAL))
            if step.call_id not in known:
                self._fold(step, facts)
        if self.outside.memory is not None:
            self._keep(self.outside.memory.manage(self._moment(lane, Trigger.USER_MESSAGE)))

    def _compacted(self, lane: Lane, channel: Channel) -> Answer:
        """The agent goes on from a summary: what it must not lose is told, once a compaction."""
        self._open(lane)
        lane.compaction = "" if lane.compaction == "due" else "told"
        return self._deliver(
            lane,
            self._moment(lane, Trigger.COMPACTION),
            self._digest(self._moment(lane, Trigger.COMPACTION)),
            channel,
            Delivery.BEFORE,
        )

    def _digest(self, moment: Moment) -> list[Decision]:
        return [self.outside.memory.decide(moment)] if self.outside.memory is not None else []

    def _record(self, lane: Lane, step: Step) -> Facts:
        facts = lane.history.observe(step)
        lane.trajectory.append(step)
        self.outside.log.step(step)
        return facts

    def _take_in(self, lane: Lane, step: Step, channel: Channel) -> Answer:
        repeated = step.kind == "command" and bool(lane.history.attempts(step.proposed))
        first = not lane.trajectory.recent
        facts = self._record(lane, step)
        self.tally.steps += 1
        self._fold(step, facts)
        pulled = trigger(facts, first=first, repeated=repeated, interval=self.interval)
        moment = self._moment(lane, pulled or Trigger.INTERVAL)
        candidates: list[Decision] = [
            f.reminder for f in lane.watches.observed(step, facts, moment)
        ]
        if pulled is not None and self.outside.memory is not None:
            candidates.append(self._ask(moment))
        candidates += self._think(lane, moment, channel, asks=pulled is not None)
        if step.kind == "compaction":  # the digest goes where the agent reads it: with `Started`,
            lane.compaction = "" if lane.compaction == "told" else "due"
            return SILENT
        if lane.compaction == "due":  # or with the next event, where there is none
            lane.compaction = ""
            candidates[:0] = self._digest(replace(moment, trigger=Trigger.COMPACTION))
        return self._deliver(lane, moment, candidates, channel, Delivery.BEFORE)

    def _finished(self, lane: Lane, message: str, channel: Channel) -> Answer:
        self._open(lane)
        moment = replace(self._moment(lane, Trigger.FINISH), message=self.outside.redact(message))
        candidates: list[Decision] = [f.reminder for f in lane.watches.finish(moment)]
        if self.outside.memory is not None:
            candidates.append(self._ask(moment))
        candidates += self._think(lane, moment, channel, asks=True)
        return self._deliver(lane, moment, candidates, channel, Delivery.LATE)

    def _ask(self, moment: Moment) -> Decision:
        """Both phases of the paper: the bank is managed before anything is decided."""
        memory = self.outside.memory
        assert memory is not None
        self._keep(memory.manage(moment))
        decision = memory.decide(replace(moment, bank=self.outside.bank.bank))
        if isinstance(decision, Silence):
            self._keep(decision.ops)
        return decision

    def _keep(self, ops: Sequence[BankOp]) -> None:
        """Apply what the reflexes keep; the status is the model's where there is one."""
        if self.outside.thinking is not None:
            ops = [op for op in ops if not isinstance(op, UpdateStatus)]
        if ops:
            self._apply(ops)

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
            self._unspoken(lane.pending, f"too late: {why}")
            lane.pending = None
            return ()
        return (lane.pending.thought.decision,)

    def _unspoken(self, pending: Pending, why: str) -> None:
        self.outside.log.decision(
            unspoken(pending, why, before_step=self._next_number, now=self.outside.clock())
        )

    def _deliver(
        self,
        lane: Lane,
        moment: Moment,
        candidates: Sequence[Decision],
        channel: Channel,
        delivery: Delivery,
    ) -> Answer:
        """Let the best candidate through the guard; one step gets at most one reminder."""
        if not candidates:
            return SILENT
        began = time.perf_counter()
        quiet = self.outside.quiet()
        choice = choose(candidates, moment, lane, lambda r: quiet.refuses(r, self.id))
        verdict, answer = choice.verdict, SILENT
        if isinstance(verdict, Reminder):
            lane.said.add(verdict, moment)
            who = audience(self.deliver, channel)
            if who is not None:
                answer = self._give(lane, verdict, moment, channel, delivery, who)
        elif choice.candidate is None and moment.proposed is not None:
            return SILENT  # a reflex without a candidate is no memory step
        self.outside.log.decision(
            decision_record(
                moment,
                choice.candidate,
                verdict,
                answer,
                channel=channel.name,
                before_step=self._next_number,
                now=self.outside.clock(),
                milliseconds=(time.perf_counter() - began) * 1000,
                cost=choice.cost,
            )
        )
        return answer

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
            lane.held.add(reminder.cause)
            delivery = Delivery.BEFORE
        self.outside.bank.cited.update(reminder.entries)
        lane.watches.spoke(reminder)
        if heard:
            number = moment.last_step.number if moment.last_step else 0
            lane.given.append(Given(number, reminder.text, str(delivery)))
        self.tally.reminders += 1
        self.tally.holds += held
        told = delivery if heard else None
        return Answer(reminder, held, told, citations(reminder, moment.bank), who)

    # -- what it is made of -----------------------------------------------------------------

    def _apply(self, ops: Sequence[BankOp]) -> None:
        known = set(self.outside.bank.bank.entries)
        self.outside.bank.apply(ops)
        self.tally.made |= self.outside.bank.bank.entries.keys() - known

    def _lane(self, agent_id: str | None) -> Lane:
        lane = self.lanes.get(agent_id)
        if lane is None:
            lane = self.lanes[agent_id] = Lane(agent_id, Trajectory(task=self.task))
            lane.watches.arm(self.outside.bank.bank)
        return lane

    def _open(self, lane: Lane) -> None:
        """Step 0: the task and the rule files are read before the first action."""
        if lane.opened:
            return
        lane.opened = True
        if self.outside.memory is None:
            return
        self._keep(self.outside.memory.manage(self._moment(lane, Trigger.FIRST_STEP)))

    def _moment(self, lane: Lane, why: Trigger, proposed: Action | None = None) -> Moment:
        return Moment(
            trigger=why,
            task=self.task,
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

    def _numbered(self, step: Step) -> Step:
        number = self._next_number
        self._next_number += 1
        redact = self.outside.redact
        return replace(
            step,
            number=number,
            action=redact(step.action),
            observation=redact(step.observation),
            thought=redact(step.thought),
            started=self.outside.clock() - (step.seconds or 0.0)
            if step.started is None
            else step.started,
        )

    def _clean_action(self, action: Action) -> Action:
        return replace(action, text=self.outside.redact(action.text))

    def _fold(self, step: Step, facts: Facts) -> None:
        op = attempt(step, facts, project=self.project, session=self.id)
        if op is not None:
            self._apply([op])
