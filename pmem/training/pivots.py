"""Pivots: the turns at which it matters whether memory speaks, found from offline rollouts.

A turn is a pivot where recorded runs that went on from it came to different ends with a reminder
and without one, or where some policy decided otherwise than the labels. Elsewhere nothing is to be
learned, and no update is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from pathlib import Path
from statistics import fmean

from pmem.evaluation.agreement import Spoke, load_decisions
from pmem.evaluation.baselines import BASELINES
from pmem.evaluation.dataset import Run, numbered_rows
from pmem.evaluation.replay import replay
from pmem.memory.rules import Rules
from pmem.training.turns import Turn

#: What came of runs that went on from a turn: `trajectory`, `before_step`, `spoke`, `reward`, and
#: `text`, what was said.
ROLLOUTS = "labels/rollouts.jsonl"
#: Mean rewards that lie nearer to each other are the same.
MARGIN = 0.1

#: By run where each policy decided and where it spoke.
Decisions = Mapping[str, Mapping[str, Spoke]]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One run that went on from a turn: whether memory spoke there, and its reward in [0, 1]."""

    run: str
    before_step: int
    spoke: bool
    reward: float
    text: str = ""


def policies_over(runs: Sequence[Run], folder: Path | None = None) -> Decisions:
    """The decisions of policies over labelled runs: the simple ones, the rules, and those that a
    dataset has on record. Raises ValueError with a sentence if a file of it cannot be used."""
    found: dict[str, dict[str, Spoke]] = defaultdict(dict)
    for run in runs:
        points = frozenset(run.decision_points)
        for name, policy in BASELINES.items():
            found[name][run.id] = Spoke(points, frozenset(policy(run)) & points)
        said = replay(run.header, run.lines, Rules()).before_steps
        found["rules"][run.id] = Spoke(points, frozenset(said) & points)
    if folder is not None and any((folder / "labels").glob("*_decisions.jsonl")):
        found |= load_decisions(folder, runs)
    return found


def load_rollouts(folder: Path) -> list[Rollout]:
    """The rollouts of a dataset, none where it has no such file.

    Raises ValueError with a sentence naming file and line if one cannot be used.
    """
    path = folder / ROLLOUTS
    found = []
    for number, row in numbered_rows(path) if path.exists() else ():
        match row:
            case {
                "trajectory": str(run),
                "before_step": int(before),
                "spoke": bool(spoke),
                "reward": int() | float() as reward,
            } if 0 <= reward <= 1:
                found.append(Rollout(run, before, spoke, reward, str(row.get("text", ""))))
            case _:
                raise ValueError(
                    f"{path}, line {number}: a rollout has trajectory, before_step, spoke (true or"
                    " false) and reward (0 to 1)"
                )
    return found


def with_outcomes(turns: Iterable[Turn], rollouts: Iterable[Rollout]) -> list[Turn]:
    """The turns, with the mean rewards of the runs that went on from them where both kinds are
    there; what the best of them said is what a reminder should tell, where no label says it."""
    by_turn: dict[tuple[str, int], list[Rollout]] = defaultdict(list)
    for one in rollouts:
        by_turn[one.run, one.before_step].append(one)
    found = []
    for turn in turns:
        came = by_turn.get((turn.run, turn.before_step), [])
        spoke = [one.reward for one in came if one.spoke]
        silent = [one.reward for one in came if not one.spoke]
        if spoke and silent:
            best = max((one for one in came if one.spoke), key=lambda one: one.reward)
            mean = {"spoke": fmean(spoke), "silent": fmean(silent)}
            turn = replace(turn, outcome=mean, about=turn.about or best.text)
        found.append(turn)
    return found


def pivots(turns: Iterable[Turn], decisions: Decisions, *, balanced: bool = True) -> list[Turn]:
    """The turns that are pivots, in their order, each with why.

    `balanced` keeps as many at which silence is right as at which a reminder is: of the others
    those at which most policies spoke.
    """
    found: list[tuple[Turn, int]] = []
    for turn in turns:
        pivot = _pivot(turn, decisions)
        if pivot is not None:
            found.append(pivot)
    speak = [turn for turn, _ in found if _wants(turn)]
    silent = sorted(
        ((turn, spoke) for turn, spoke in found if not _wants(turn)),
        key=lambda one: (-one[1], blake2s(one[0].id.encode()).digest()),
    )
    if balanced and speak:
        silent = silent[: len(speak)]
    kept = {turn.id for turn in speak} | {turn.id for turn, _ in silent}
    return [turn for turn, _ in found if turn.id in kept]


def _pivot(turn: Turn, decisions: Decisions) -> tuple[Turn, int] | None:
    """A turn with why it is a pivot, and how many policies spoke at it; None if it is none."""
    there = [
        turn.before_step in by_run[turn.run].spoke
        for by_run in decisions.values()
        if turn.run in by_run and turn.before_step in by_run[turn.run].points
    ]
    spoke = sum(there)
    came = turn.outcome
    if came and abs(came["spoke"] - came["silent"]) >= MARGIN:
        why = f"reward {came['spoke']:.2f} with a reminder, {came['silent']:.2f} without"
        return replace(turn, why=why), spoke
    if turn.wanted is None or all(one is turn.wanted for one in there):
        return None
    wanted = "a reminder" if turn.wanted else "silence"
    return replace(turn, why=f"{wanted} is right; {spoke} of {len(there)} policies spoke"), spoke


def _wants(turn: Turn) -> bool:
    came = turn.outcome
    return came["spoke"] > came["silent"] if came else turn.wanted is True
