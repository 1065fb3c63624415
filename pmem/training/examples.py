"""Examples: what recorded runs tell a gate, as features and whether it was worth it.

Two questions: was this reminder worth giving (`speak`), and was a model worth a call at this step
(`ask`). The features are those that a live session computes, from the steps before, never after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pmem.core.bank import MemoryBank
from pmem.core.decision import Reminder, Trigger
from pmem.core.gate import ASKED_BY_GATE, of_moment, of_reminder, speaker
from pmem.core.history import History
from pmem.core.moment import Given, Moment
from pmem.core.step import ACTING_KINDS, Action, Step
from pmem.core.trajectory import Trajectory
from pmem.core.trigger import trigger
from pmem.evaluation.agreement import RECORDINGS
from pmem.evaluation.dataset import Run, numbered_rows
from pmem.evaluation.replay import replay
from pmem.memory.arms import memory_agent
from pmem.memory.model.wants import Wants
from pmem.session.lane import MAX_GIVEN
from pmem.store.session_log import read_decisions, read_steps
from pmem.training import outcome
from pmem.training.outcome import facts_of, labelled, noise, recurred

Question = Literal["speak", "ask"]
#: As the settings have them where nothing is said.
INTERVAL, WINDOW = 5, 8
#: Outcomes that are none.
UNTOLD = frozenset({"it cannot be told whether it was followed", "the agent never read it"})
#: Reminders that a gate lets through unasked teach it nothing.
_DIGEST = str(Trigger.COMPACTION)


@dataclass(frozen=True, slots=True)
class Example:
    """One reminder or one possible call of a run. `good` is None where nothing tells; `speaker` is
    who worded a reminder (`model`, `rules`)."""

    question: Question
    run: str
    before_step: int
    features: Mapping[str, float]
    good: bool | None
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A moment of a run; `decision` is the reminder that was to be given there, None where a model
    would be asked."""

    moment: Moment
    before_step: int
    decision: Mapping[str, Any] | None = None


def of_run(run: Run, folder: Path) -> list[Example]:
    """The examples of one labelled run: what the rules say, what recorded memory agents said, and
    the steps at which a model would be asked. Raises ValueError for a broken dataset."""
    rules = memory_agent("rules")
    assert rules is not None
    steps = [Step.from_json(line) for line in run.lines]
    said = {"rules": _reminders(replay(run.header, run.lines, rules).decisions)}
    said |= _recorded(run, folder)
    found = []
    for name, reminders in said.items():
        for seen in _walk(steps, reminders):
            before = seen.before_step
            if seen.decision is not None:
                good = labelled(run, before)
                found.append(_example(run.id, seen, good))
            elif name == "rules":
                found.append(_example(run.id, seen, _wanted(run, before)))
    return found


def of_session(folder: Path) -> list[Example]:
    """The examples of a session's directory: the reminders that were given and what came of them,
    the steps at which a model was or would be asked and whether a failure came back after them.

    Raises OSError if its files cannot be read.
    """
    steps = read_steps(folder).steps
    decisions = read_decisions(folder)[0]
    facts, marked = facts_of(steps), noise(decisions)
    lines = [step.to_json() for step in steps]
    reminders = _reminders(decisions)
    why = {id(d): outcome.of_reminder(d, lines, marked) for d in reminders}
    helped = {int(d["before_step"]) for d in reminders if not why[id(d)]}
    found = []
    for seen in _walk(steps, reminders):
        before = seen.before_step
        if seen.decision is None:
            good = recurred(facts, before - 1) or any(0 <= n - before < INTERVAL for n in helped)
            found.append(_example(folder.name, seen, good))
        else:
            reason = why[id(seen.decision)]
            told = None if reason in UNTOLD else not reason
            found.append(_example(folder.name, seen, told))
    return found


def _example(run: str, seen: _Seen, good: bool | None) -> Example:
    if seen.decision is None:
        return Example("ask", run, seen.before_step, of_moment(seen.moment), good)
    reminder = _candidate(seen.decision)
    told = of_reminder(reminder, seen.moment)
    return Example("speak", run, seen.before_step, told, good, speaker(reminder.reason))


def _wanted(run: Run, before: int) -> bool | None:
    """Whether the labels want a reminder before this step or soon after it."""
    soon = [labelled(run, n) for n in range(before, before + INTERVAL)]
    return True if True in soon else False if False in soon else None


def _recorded(run: Run, folder: Path) -> dict[str, list[Mapping[str, Any]]]:
    """What recorded memory agents said over a run, as decisions."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for name in RECORDINGS:
        path = folder / "labels" / f"{name}_decisions.jsonl"
        for _, row in numbered_rows(path) if path.exists() else ():
            if row.get("trajectory") != run.id:
                continue
            match row:
                case {"decision": "inject", "before_step": int(before), "note": str(note)}:
                    told = {"before_step": before, "text": note}
                case {"after_step": int(after), "answer": {"say": {"text": str(note)}}}:
                    told = {"before_step": after + 1, "text": note}
                case _:
                    continue
            found.setdefault(name, []).append({**told, "reason": "model", "trigger": "interval"})
    return found


def _reminders(decisions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those a gate could have refused, in the order of the steps."""
    said = (
        d
        for d in decisions
        if d.get("decision") == "remind" and not d.get("hold") and d.get("trigger") != _DIGEST
    )
    return sorted(said, key=lambda d: int(d["before_step"]))


def _candidate(decision: Mapping[str, Any]) -> Reminder:
    return Reminder(
        str(decision.get("text", "")),
        tuple(map(str, decision.get("entries") or ())),
        str(decision.get("reason", "")),
        str(decision.get("cause", "")),
    )


def _walk(steps: Sequence[Step], reminders: Sequence[Mapping[str, Any]]) -> Iterator[_Seen]:
    """The moments of a run, in order, each as it was before what followed was known."""
    history, trajectory, wants = History(), Trajectory(), Wants()
    given: list[Given] = []
    left = list(reminders)

    def moment(why: str, proposed: Action | None = None) -> Moment:
        return Moment(
            Trigger(why),
            "",
            trajectory.window(WINDOW),
            MemoryBank(),
            history,
            proposed,
            user_messages=trajectory.user_messages,
            given=tuple(given[-MAX_GIVEN:]),
        )

    for step in steps:
        while left and int(left[0]["before_step"]) <= step.number:
            decision = left.pop(0)
            why = str(decision.get("trigger") or Trigger.INTERVAL)
            acts = why == Trigger.PROPOSED and step.kind in ACTING_KINDS
            yield _Seen(moment(why, step.proposed if acts else None), step.number, decision)
            given.append(Given(step.number - 1, str(decision.get("text", ""))))
        repeated = step.kind == "command" and bool(history.attempts(step.proposed))
        first = not trajectory.recent
        facts = history.observe(step)
        trajectory.append(step)
        pulled = trigger(facts, first=first, repeated=repeated, interval=INTERVAL)
        if pulled is not None and wants.asks(moment(pulled)) and pulled in ASKED_BY_GATE:
            yield _Seen(moment(pulled), step.number + 1)
