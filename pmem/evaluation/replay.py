"""Replay: the same session, memory agent, guard and watches over a recorded run.

Nothing outside is touched: the bank lives in memory, the clock is the recording's, and nobody
looks at files (their changes count as unknown).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pmem.core.bank import MemoryBank
from pmem.core.decision import Delivery, Reminder
from pmem.core.event import Answer, Event, Finished, Observed, Proposed, UserMessage
from pmem.core.gate import Gate
from pmem.core.step import ACTING_KINDS, Step
from pmem.memory.protocol import MemoryAgent
from pmem.session.in_memory import BankInMemory, LogInMemory
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session

#: How a reminder can reach the agent: `ideal` hears what is said about a proposed action before
#: it runs; the real channels hear it with the result, unless the action is held.
DeliveryModel = Literal["ideal", "claude", "codex", "gemini", "shell"]
CHANNELS: Mapping[DeliveryModel, Channel] = {
    "ideal": Channel("ideal"),
    "claude": Channel("claude", can_hold=True),
    "codex": Channel("codex", can_hold=True),
    "gemini": Channel("gemini", can_hold=True),
    "shell": Channel("shell"),
}

#: How two benchmark harnesses tell that the agent means to be done: terminus-2 asks back, and
#: SWE-agent has a command for it.
_ASKS_BACK = "Are you sure you want to mark the task as complete"
_SUBMITS = "submit"


@dataclass(frozen=True, slots=True)
class Said:
    """A reminder of the replay. `asked_at` is the step it was decided before, `before_step` the
    first step before which the agent could have read it."""

    before_step: int
    asked_at: int
    reminder: Reminder
    hold: bool
    delivery: Delivery | None


@dataclass
class Replayed:
    """What came of a run: what was said, the decisions recorded, the bank at the end."""

    said: list[Said] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    bank: MemoryBank = field(default_factory=MemoryBank)

    @property
    def before_steps(self) -> list[int]:
        """The predictions."""
        return [one.before_step for one in self.said]


class Clock:
    """The time of the recording, in Unix seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def replay(
    header: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    memory: MemoryAgent,
    *,
    delivery: DeliveryModel = "ideal",
    bank: MemoryBank | None = None,
    interval: int = 5,
    window: int = 8,
    hold: str = "sure",
    session: str = "replay",
    redact: Callable[[str], str] = str,
    gate: Gate | None = None,
) -> Replayed:
    """Play neutral lines to a memory agent, step by step, without a look ahead.

    A `gate` keeps back what it refuses.
    """
    kept, log, clock = BankInMemory(bank), LogInMemory(), Clock()
    files = [(f["path"], f["text"]) for f in header.get("context_files") or () if f.get("text")]
    outside = Outside(
        kept,
        log,
        memory,
        rule_files=lambda: files,
        clock=clock,
        redact=redact,
        gate=gate or Gate(),
    )
    ring = Session(
        outside,
        id=session,
        project=str(header.get("cwd") or ""),
        task=str(header.get("task") or ""),
        interval=interval,
        window=window,
        hold=hold,
        first_number=int(lines[0]["step"]) if lines else 1,
    )
    channel = CHANNELS[delivery]
    result = Replayed(decisions=log.decisions, bank=kept.bank)
    for line, events in zip(lines, _events(lines), strict=True):
        clock.now = _time(line, clock.now)
        over = False
        for event in events:
            answer = ring.handle(event, channel)
            over = over or isinstance(event, Observed | UserMessage)
            if answer.reminder is not None:
                asked = line["step"] + over
                result.said.append(
                    Said(
                        _heard(asked, event, answer, line, lines, delivery),
                        asked,
                        answer.reminder,
                        answer.hold,
                        answer.delivery,
                    )
                )
    return result


def _events(lines: Sequence[Mapping[str, Any]]) -> Iterator[list[Event]]:
    for n, line in enumerate(lines):
        step = Step.from_json(line)
        if step.kind == "user":
            yield [UserMessage(step.observation or step.action)]
        elif step.kind in ACTING_KINDS:
            events: list[Event] = [Proposed(step.proposed), Observed(step)]
            if step.action.strip() == _SUBMITS:
                events.insert(0, Finished())
            elif _ASKS_BACK in step.observation:
                events.append(Finished())
            yield events
        elif step.kind == "message" and _ends_turn(lines[n + 1 :]):
            yield [Finished(step.action), Observed(step)]
        else:
            yield [Observed(step)]


def _ends_turn(rest: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the turn ends here: the user speaks next, or nobody does."""
    following = next(iter(rest), None)
    return following is None or following["kind"] == "user"


def _heard(
    asked: int,
    event: Event,
    answer: Answer,
    line: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    delivery: DeliveryModel,
) -> int:
    """The first step before which the agent could have read an answer."""
    if delivery == "ideal":
        return asked
    if isinstance(event, Proposed | Finished):
        if answer.hold:
            return asked
        asked += 1
    turn = line.get("turn")
    if turn is None:
        return asked
    # Calls of one turn are sent together: none hears the answer to another.
    return next((n["step"] for n in lines if n["step"] >= asked and n.get("turn") != turn), asked)


def _time(line: Mapping[str, Any], before: float) -> float:
    started = line.get("started")
    if isinstance(started, int | float):
        return float(started)
    try:
        return datetime.fromisoformat(str(line.get("ts"))).timestamp()
    except ValueError:
        return before + 1.0
