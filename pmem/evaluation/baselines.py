"""Simple policies to compare with: what a reminder is worth that needs no memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from pmem.core.failure import judge
from pmem.core.signature import normal_form
from pmem.core.step import ACTING_KINDS, Step
from pmem.evaluation.dataset import Run

Policy = Callable[[Run], list[int]]


def never(run: Run) -> list[int]:
    """Silence throughout."""
    return []


def always(run: Run) -> list[int]:
    """Before every step."""
    return run.decision_points


def every_8th(run: Run) -> list[int]:
    """A fixed interval."""
    return [n for n in run.decision_points if n % 8 == 0]


def random_20(run: Run) -> list[int]:
    """One step in five, by chance; the same ones each time."""
    chance = random.Random(run.id)
    return [n for n in run.decision_points if chance.random() < 0.2]


def after_failure(run: Run) -> list[int]:
    """After each step that failed."""
    return [step.number + 1 for step in _steps(run) if judge(step).failed]


def exact_repeat(run: Run) -> list[int]:
    """Before a command that failed once and was not run since, whatever was changed."""
    failed: set[str] = set()
    said = []
    for step in _steps(run):
        if step.kind != "command":
            continue
        command = normal_form(step.action)
        if command in failed:
            said.append(step.number)
        if judge(step).failed:
            failed.add(command)
        else:
            failed.discard(command)
    return said


def same_failure_twice(run: Run) -> list[int]:
    """After the same failure line twice within eight steps."""
    lines: dict[str, int] = {}
    said = []
    for step in _steps(run):
        verdict = judge(step)
        if not verdict.failed or not verdict.failure:
            continue
        if step.number - lines.get(verdict.failure, -9) <= 8:
            said.append(step.number + 1)
        lines[verdict.failure] = step.number
    return said


#: By the name they have in the tables.
BASELINES: Mapping[str, Policy] = {
    "never": never,
    "always": always,
    "every 8th step": every_8th,
    "random 20 %": random_20,
    "after any failed step": after_failure,
    "exact repeat of a failure": exact_repeat,
    "same failure twice in 8": same_failure_twice,
}


def _steps(run: Run) -> list[Step]:
    steps = map(Step.from_json, run.lines)
    return [step for step in steps if step.kind in ACTING_KINDS]
