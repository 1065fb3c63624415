"""Agreement: our decisions to speak beside recorded ones of other memory agents, and the labels.

A dataset may hold two files of them. `labels/paper_decisions.jsonl` has a line for every step:
`trajectory`, `before_step`, `decision` (`inject` or `silent`). `labels/played_decisions.jsonl` has
one for every call: `trajectory`, `after_step`, `answer` (with `say` if it spoke), and one for every
watch that fired: `trajectory`, `watch_fired_before`. Where that agent was not called it was silent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmem.evaluation.dataset import Run, numbered_rows
from pmem.evaluation.scores import count, total

#: The recordings there may be, by their name in the tables.
RECORDINGS = ("paper", "played")


@dataclass(frozen=True, slots=True)
class Spoke:
    """One memory agent over one run: where it decided, and before which of these it spoke."""

    points: frozenset[int]
    spoke: frozenset[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two readers over the same points: how often each spoke, and both did."""

    points: int = 0
    first: int = 0
    second: int = 0
    both: int = 0

    def __add__(self, other: Pair) -> Pair:
        return Pair(
            self.points + other.points,
            self.first + other.first,
            self.second + other.second,
            self.both + other.both,
        )

    @property
    def agreement(self) -> float | None:
        """The share of points at which both did the same."""
        if not self.points:
            return None
        return round(1 - (self.first + self.second - 2 * self.both) / self.points, 3)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond chance; None where one of two answers never came."""
        if not self.points:
            return None
        a, b = self.first / self.points, self.second / self.points
        chance = a * b + (1 - a) * (1 - b)
        if chance == 1:
            return None
        same = 1 - (self.first + self.second - 2 * self.both) / self.points
        return round((same - chance) / (1 - chance), 3)


def pair(first: Collection[int], second: Collection[int], points: Collection[int]) -> Pair:
    """Two readers over the points of one run."""
    a, b = set(first) & set(points), set(second) & set(points)
    return Pair(len(set(points)), len(a), len(b), len(a & b))


def load_decisions(folder: Path, runs: Sequence[Run]) -> dict[str, dict[str, Spoke]]:
    """The recorded decisions of a dataset: by recording, by run.

    Raises ValueError with a sentence if there are none, or a line cannot be used.
    """
    known = {run.id: run for run in runs}
    found: dict[str, dict[str, Spoke]] = {}
    for name in RECORDINGS:
        path = folder / "labels" / f"{name}_decisions.jsonl"
        if path.exists():
            found[name] = _recording(path, known)
    if not found:
        files = " and ".join(f"labels/{name}_decisions.jsonl" for name in RECORDINGS)
        raise ValueError(f"{folder} has no recorded decisions; they stand in {files}")
    return found


def compare(
    name: str, runs: Sequence[Run], recorded: Mapping[str, Spoke], ours: Mapping[str, Iterable[int]]
) -> dict[str, Any]:
    """Ours (`name`) beside the recorded decisions of these runs and their labels.

    `ours` says by run before which steps we spoke.
    """
    runs = [run for run in runs if run.id in recorded]
    said = {run.id: _at_points(run, ours[run.id]) for run in runs}
    theirs = {run.id: recorded[run.id].spoke for run in runs}
    beside = _sum(pair(said[run.id], theirs[run.id], recorded[run.id].points) for run in runs)
    return {
        "runs": len(runs),
        "points": beside.points,
        "agreement": beside.agreement,
        "kappa": beside.kappa,
        "both_spoke": beside.both,
        "speaking_rate": {
            "recorded": _share(beside.second, beside.points),
            name: _share(beside.first, beside.points),
        },
        "labels": {"recorded": _labels(runs, theirs), name: _labels(runs, said)},
    }


def _labels(runs: Sequence[Run], spoke: Mapping[str, Collection[int]]) -> dict[str, Any]:
    """Scores against the labels; agreement counts the steps in windows and silent stretches."""
    counts = total(count(run, spoke[run.id]) for run in runs)
    beside = _sum(pair(spoke[run.id], *_judged(run)) for run in runs)
    return {
        "recall": counts.recall,
        "precision": counts.precision,
        "false_alarm_on_silent": counts.false_alarm_on_silent,
        "agreement": beside.agreement,
        "kappa": beside.kappa,
    }


def _judged(run: Run) -> tuple[set[int], set[int]]:
    """The steps in a window, and those with these in a silent stretch."""
    points = set(run.decision_points)
    windows = {n for label in run.labels for n in range(label.earliest, label.latest + 1)} & points
    silent = {n for first, last in run.silent for n in range(first, last + 1)} & points
    return windows, windows | silent


def _recording(path: Path, runs: Mapping[str, Run]) -> dict[str, Spoke]:
    points: dict[str, set[int]] = {}
    spoke: dict[str, set[int]] = {}
    for number, row in numbered_rows(path):
        run = runs.get(row.get("trajectory", ""))
        if run is None:
            raise ValueError(f"{path}, line {number}: its trajectory is not in the manifest")
        spoken = spoke.setdefault(run.id, set())
        mine = points.setdefault(run.id, set())
        match row:
            case {"before_step": int(step), "decision": "inject" | "silent" as decision}:
                at = _at_points(run, [step])
                mine |= at
                spoken |= at if decision == "inject" else set()
            case {"after_step": int(step), "answer": {**answer}}:
                mine |= set(run.decision_points)
                spoken |= _at_points(run, [step + 1]) if answer.get("say") else set()
            case {"watch_fired_before": int(step)}:
                mine |= set(run.decision_points)
                spoken |= _at_points(run, [step])
            case _:
                raise ValueError(f"{path}, line {number}: it is no decision")
    return {id: Spoke(frozenset(points[id]), frozenset(spoke[id])) for id in points}


def _at_points(run: Run, steps: Iterable[int]) -> set[int]:
    """What is said before a step that is not the agent's counts for the agent's next one."""
    points = run.decision_points
    return {at for n in steps if (at := next((p for p in points if p >= n), None)) is not None}


def _sum(pairs: Iterable[Pair]) -> Pair:
    return sum(pairs, Pair())


def _share(a: int, b: int) -> float | None:
    return round(a / b, 3) if b else None
