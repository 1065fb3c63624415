"""Outcome: what came after a decision of a recorded run; the best a log can tell of its worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pmem.core.history import Facts, History
from pmem.core.step import ACTING_KINDS, Step
from pmem.evaluation.dataset import Run
from pmem.review.after import HELPED, LOOKED_AT, UNCLEAR, after

#: Who must have been able to read a reminder for its outcome to count.
_HEARD_BY_NOBODY = frozenset({"", "none"})


def facts_of(steps: Iterable[Step]) -> list[Facts]:
    """What is known of each step, in order."""
    history = History()
    return [history.observe(step) for step in steps]


def recurred(facts: Sequence[Facts], number: int, within: int = LOOKED_AT) -> bool:
    """Whether a failure seen up to step `number` came back in the next `within` acts."""
    return came_back(facts, number, within) is not None


def came_back(facts: Sequence[Facts], number: int, within: int = LOOKED_AT) -> Facts | None:
    """The first of the next `within` acts that fails as one up to step `number` did, if any."""
    before = [f for f in facts if f.number <= number and f.failed]
    commands = {(f.normal, f.cwd) for f in before if f.kind == "command" and f.normal}
    lines = {f.failure for f in before if f.failure}
    following = [f for f in facts if f.number > number and f.kind in ACTING_KINDS][:within]
    again = (
        f for f in following if f.failed and ((f.normal, f.cwd) in commands or f.failure in lines)
    )
    return next(again, None)


def noise(decisions: Iterable[Mapping[str, Any]]) -> set[tuple[Any, Any]]:
    """The reminders a person called noise (`pmem wrong`), as (cause, text)."""
    marked: set[tuple[Any, Any]] = set()
    for decision in decisions:
        key = (decision.get("cause"), decision.get("text"))
        if decision.get("decision") == "wrong":
            marked.add(key)
        elif decision.get("decision") == "right":
            marked.discard(key)
    return marked


def of_reminder(
    decision: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    marked: set[tuple[Any, Any]],
) -> str:
    """Why a reminder counts for nothing, "" if it was delivered and followed.

    `steps` are the neutral lines of its session, `marked` what `noise` found there. A reminder of
    which nothing can be told begins with `it cannot be told`.
    """
    if decision.get("decision") != "remind":
        return "it was not said"
    if decision.get("delivery", "") in _HEARD_BY_NOBODY or decision.get("audience") == "human":
        return "the agent never read it"
    if (decision.get("cause"), decision.get("text")) in marked:
        return "the user called it noise"
    start = int(decision.get("before_step") or 0)
    came = after(decision, [s for s in steps if s["step"] >= start])
    if came.verdict == UNCLEAR:
        return "it cannot be told whether it was followed"
    return "" if came.verdict == HELPED else "it was not followed"


def labelled(run: Run, before_step: int) -> bool | None:
    """Whether the labels want a reminder before a step: True in a window, False on a silent step,
    None on one that is neither. A step that is not the agent's counts as the agent's next one."""
    at = next((p for p in run.decision_points if p >= before_step), None)
    if at is None:
        return None
    if any(label.earliest <= at <= label.latest for label in run.labels):
        return True
    return False if any(first <= at <= last for first, last in run.silent) else None
