"""Scores of when to speak, as the dev set's own scorer computes them.

A prediction `before_step` N is given after the observation of step N-1 and before the action of
step N; one before a step that is not the agent's counts for the agent's next one. Steps neither
in a window of a label nor in a silent stretch are neutral.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pmem.evaluation.dataset import Run

#: Run id to the steps before which something was said.
Predictions = Mapping[str, Iterable[int]]


@dataclass
class Counts:
    """What is counted in some runs; every figure follows from these."""

    labels: int = 0
    hits: int = 0
    sound_labels: int = 0
    sound_hits: int = 0
    good: int = 0
    bad: int = 0
    neutral: int = 0
    predictions: int = 0
    decision_points: int = 0
    silent_steps: int = 0
    false_alarms: int = 0
    in_window: int = 0
    leads: list[int] = field(default_factory=list)
    by_reason: dict[str, list[int]] = field(default_factory=dict)

    def add(self, other: Counts) -> None:
        """Take in what was counted in other runs."""
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.leads += other.leads
        for reason, (hits, labels) in other.by_reason.items():
            mine = self.by_reason.setdefault(reason, [0, 0])
            mine[0] += hits
            mine[1] += labels

    @property
    def recall(self) -> float | None:
        """Labels hit in their window."""
        return _share(self.hits, self.labels)

    @property
    def recall_high_medium(self) -> float | None:
        """The same without labels of low confidence."""
        return _share(self.sound_hits, self.sound_labels)

    @property
    def precision(self) -> float | None:
        """Of the reminders that are not neutral, those in a window."""
        return _share(self.good, self.good + self.bad)

    @property
    def f1(self) -> float:
        """Of precision and recall as rounded."""
        precision, recall = self.precision, self.recall
        if not precision or not recall:
            return 0.0
        return round(2 * precision * recall / (precision + recall), 3)

    @property
    def false_alarm_on_silent(self) -> float | None:
        """Of the silent steps, those with a reminder."""
        return _share(self.false_alarms, self.silent_steps)

    @property
    def silence_rate(self) -> float | None:
        """Of the decision points, those without a reminder."""
        if not self.decision_points:
            return None
        return round(1 - self.predictions / self.decision_points, 3)

    @property
    def mean_lead(self) -> float | None:
        """How many steps before the labelled one the first hit came, on average."""
        return _share(sum(self.leads), len(self.leads))

    @property
    def always_precision(self) -> float | None:
        """The precision of speaking before every step."""
        return _share(self.in_window, self.in_window + self.silent_steps)

    @property
    def lift(self) -> float | None:
        """Precision over that of speaking always."""
        precision, always = self.precision, self.always_precision
        return round(precision / always, 3) if precision is not None and always else None


_SUMMED = (
    "labels",
    "hits",
    "sound_labels",
    "sound_hits",
    "good",
    "bad",
    "neutral",
    "predictions",
    "decision_points",
    "silent_steps",
    "false_alarms",
    "in_window",
)


def count(run: Run, predicted: Iterable[int], confidences: Collection[str] = ()) -> Counts:
    """Count one run. With `confidences` only labels of these count as labels."""
    points = run.decision_points
    at_points = set(points)
    said = {next((p for p in points if p >= n), None) for n in predicted} - {None}
    counts = Counts(decision_points=len(at_points), predictions=len(said))
    windows: set[int] = set()
    for label in run.labels:
        window = set(range(label.earliest, label.latest + 1)) & at_points
        windows |= window
        if confidences and label.confidence not in confidences:
            continue
        hit = said & window
        sound = label.confidence in ("high", "medium")
        counts.labels += 1
        counts.hits += bool(hit)
        counts.sound_labels += sound
        counts.sound_hits += sound and bool(hit)
        mine = counts.by_reason.setdefault(label.reason, [0, 0])
        mine[0] += bool(hit)
        mine[1] += 1
        if hit:
            counts.leads.append(label.before_step - min(n for n in hit if n is not None))
    silent = {n for first, last in run.silent for n in range(first, last + 1)}
    silent = (silent & at_points) - windows
    counts.silent_steps = len(silent)
    counts.false_alarms = counts.bad = len(silent & said)
    counts.good = len(said & windows)
    counts.neutral = len(said - windows - silent)
    counts.in_window = len(windows)
    return counts


def total(counts: Iterable[Counts]) -> Counts:
    """All runs together."""
    whole = Counts()
    for one in counts:
        whole.add(one)
    return whole


def left_out(counts: Mapping[str, Counts], figure: str) -> tuple[float, float] | None:
    """The lowest and the highest value of a figure over the runs with one of them left out."""
    values = []
    for id in counts:
        rest = total(c for other, c in counts.items() if other != id)
        value = getattr(rest, figure)
        if value is not None:
            values.append(value)
    return (min(values), max(values)) if values else None


def report(counts: Counts) -> dict[str, object]:
    """The figures of `pmem eval replay --json`."""
    return {
        "recall": counts.recall,
        "recall_high_medium": counts.recall_high_medium,
        "precision": counts.precision,
        "f1": counts.f1,
        "lift": counts.lift,
        "false_alarm_on_silent": counts.false_alarm_on_silent,
        "silence_rate": counts.silence_rate,
        "mean_lead": counts.mean_lead,
        "by_reason": {k: f"{a}/{b}" for k, (a, b) in sorted(counts.by_reason.items())},
        "labels": counts.labels,
        "hits": counts.hits,
        "predictions": counts.predictions,
        "unlabelled": counts.neutral,
        "decision_points": counts.decision_points,
    }


def _share(a: float, b: float) -> float | None:
    return round(a / b, 3) if b else None
