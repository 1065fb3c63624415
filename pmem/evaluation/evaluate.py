"""Evaluate: a memory agent over a whole dataset, its scores, and where it missed or misfired."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pmem.evaluation.baselines import BASELINES
from pmem.evaluation.dataset import Label, Run
from pmem.evaluation.replay import DeliveryModel, Replayed, Said, replay
from pmem.evaluation.scores import Counts, count, left_out, report, total
from pmem.memory.protocol import MemoryAgent

#: Figures told with the range they have when any one run is left out.
RANGED = ("recall", "recall_high_medium", "precision", "false_alarm_on_silent", "silence_rate")


@dataclass
class Evaluation:
    """One arm over a dataset: its counts by run, and what it said there."""

    arm: str
    runs: Mapping[str, Run]
    counts: dict[str, Counts] = field(default_factory=dict)
    replayed: dict[str, Replayed] = field(default_factory=dict)

    @property
    def total(self) -> Counts:
        """All runs together."""
        return total(self.counts.values())

    def of_set(self, name: str) -> Counts:
        """The runs of one set together."""
        return total(c for id, c in self.counts.items() if self.runs[id].set == name)

    def to_json(self) -> dict[str, Any]:
        """The figures, with ranges, by set and by rule."""
        sets = dict.fromkeys(run.set for run in self.runs.values())
        told = report(self.total)
        told["intervals"] = {
            name: list(found)
            for name in RANGED
            if (found := left_out(self.counts, name)) is not None
        }
        told["by_set"] = {name: report(self.of_set(name)) for name in sets}
        if self.replayed:
            told["by_rule"] = self.by_rule()
            told["most_false_alarms_on_a_run"] = max(
                (c.false_alarms for c in self.counts.values()), default=0
            )
        return told

    def by_rule(self) -> dict[str, dict[str, int]]:
        """Of each rule how many reminders lay in a window, on silent steps, on neutral ones."""
        rules: dict[str, dict[str, int]] = {}
        for id, result in self.replayed.items():
            for said in result.said:
                mine = rules.setdefault(
                    said.reminder.reason, {"in_window": 0, "false_alarm": 0, "neutral": 0}
                )
                mine[kind_of(self.runs[id], said)] += 1
        return dict(sorted(rules.items()))

    def misses(self) -> list[tuple[str, Label]]:
        """The labels in whose window nothing was said, by run."""
        return [
            (id, label)
            for id, result in self.replayed.items()
            for label in self.runs[id].labels
            if not any(label.earliest <= n <= label.latest for n in result.before_steps)
        ]

    def false_alarms(self) -> list[tuple[str, Said]]:
        """What was said on silent steps, by run."""
        return [
            (id, said)
            for id, result in self.replayed.items()
            for said in result.said
            if kind_of(self.runs[id], said) == "false_alarm"
        ]


def evaluate(
    arm: str,
    runs: Sequence[Run],
    memory: Callable[[Run], MemoryAgent],
    *,
    delivery: DeliveryModel = "ideal",
    interval: int = 5,
    window: int = 8,
    progress: Callable[[Run], None] | None = None,
) -> Evaluation:
    """Replay each run with a memory agent of its own, which `memory` makes, and an empty bank."""
    result = Evaluation(arm, {run.id: run for run in runs})
    for run in runs:
        played = replay(
            run.header, run.lines, memory(run), delivery=delivery, interval=interval, window=window
        )
        result.replayed[run.id] = played
        result.counts[run.id] = count(run, played.before_steps)
        if progress is not None:
            progress(run)
    return result


def baselines(runs: Sequence[Run]) -> dict[str, Evaluation]:
    """The simple policies over the same runs."""
    return {
        name: Evaluation(
            name, {run.id: run for run in runs}, {run.id: count(run, policy(run)) for run in runs}
        )
        for name, policy in BASELINES.items()
    }


def kind_of(run: Run, said: Said) -> str:
    """Where a reminder lies: `in_window`, `false_alarm` or `neutral`."""
    one = count(run, [said.before_step])
    return "in_window" if one.good else "false_alarm" if one.bad else "neutral"
