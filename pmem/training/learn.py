"""Learn: the weights of a gate from examples, by logistic regression, measured on runs left out.

Needs scikit-learn, the extra `train`. What is stated of a gate is of runs that it was not learned
from: the runs are dealt into folds, and for each fold weights and threshold come from the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pmem.core.gate import Weights
from pmem.training.examples import Example

FOLDS = 5
#: Fewer good or bad examples than this teach nothing.
LEAST = 10
#: A gate must tell good from bad by so much on runs left out: the share of the good it lets through
#: less that of the bad. A coin has 0.
TELLS = 0.1
#: How freely weights leave 0: scikit-learn's C.
STRENGTH = 1.0


class NoLibrary(Exception):
    """scikit-learn is not installed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A question over runs left out: what there was, and what the gate let through."""

    good: int = 0
    bad: int = 0
    good_kept: int = 0
    bad_kept: int = 0
    unknown: int = 0
    unknown_kept: int = 0

    @property
    def kept(self) -> int:
        """Everything that was let through."""
        return self.good_kept + self.bad_kept + self.unknown_kept

    @property
    def total(self) -> int:
        """Everything there was."""
        return self.good + self.bad + self.unknown

    def to_json(self) -> dict[str, Any]:
        """As the gate's file and `--json` tell it."""
        return {
            "without": self.total,
            "with": self.kept,
            "precision_without": _share(self.good, self.good + self.bad),
            "precision_with": _share(self.good_kept, self.good_kept + self.bad_kept),
            "kept_of_good": _share(self.good_kept, self.good),
            "saved": _share(self.total - self.kept, self.total),
        }


@dataclass(frozen=True, slots=True)
class Learned:
    """The weights of one question (None: they are not worth having, and `why`), measured."""

    weights: Weights | None
    measured: Measured
    why: str = ""


def learn(examples: Sequence[Example], *, keep: float = 0.8) -> Learned:
    """Weights that let through about the share `keep` of what was worth it.

    There are none where the examples are too few, or do not tell good from bad on runs left out.
    Raises NoLibrary.
    """
    _library()
    told = [e for e in examples if e.good is not None]
    good = sum(e.good is True for e in told)
    bad = len(told) - good
    runs = {e.run for e in told}
    if min(good, bad) < LEAST or len(runs) < FOLDS:
        why = f"too few: {good} good, {bad} bad, {len(runs)} runs"
        return Learned(None, Measured(good, bad, good, bad), why)
    measured = measure(examples, keep)
    if measured.good_kept / good - measured.bad_kept / bad < TELLS:
        return Learned(None, measured, "on runs left out it does not tell good from bad")
    return Learned(with_threshold(examples, keep), measured)


def deal(runs: Sequence[str], folds: int = FOLDS) -> list[set[str]]:
    """Runs dealt into folds, the same each time."""
    return [set(sorted(set(runs))[n::folds]) for n in range(folds)]


def measure(examples: Sequence[Example], keep: float) -> Measured:
    """What gates that were learned from the other runs let through of each fold."""
    counts = dict.fromkeys((True, False, None), 0)
    kept = dict.fromkeys((True, False, None), 0)
    for fold in deal([e.run for e in examples]):
        weights = with_threshold([e for e in examples if e.run not in fold], keep)
        for example in (e for e in examples if e.run in fold):
            counts[example.good] += 1
            passed = weights is None or weights.probability(example.features) >= weights.threshold
            kept[example.good] += passed
    return Measured(counts[True], counts[False], kept[True], kept[False], counts[None], kept[None])


def with_threshold(examples: Sequence[Example], keep: float) -> Weights | None:
    """Weights from all of these, the threshold from what each fold gets of the others' weights."""
    told = [e for e in examples if e.good is not None]
    whole = _fit(told)
    if whole is None:
        return None
    scores = []
    for fold in deal([e.run for e in told]):
        weights = _fit([e for e in told if e.run not in fold])
        if weights is not None:
            scores += [
                weights.probability(e.features) for e in told if e.run in fold and e.good is True
            ]
    if not scores:
        return None
    scores.sort()
    at = scores[int((1 - keep) * len(scores))]
    return Weights(round(at, 4), whole.intercept, whole.weights)


def _fit(examples: Sequence[Example]) -> Weights | None:
    """Plain logistic regression; None where all examples say the same."""
    good = [e.good is True for e in examples]
    if len(set(good)) < 2:
        return None
    DictVectorizer, LogisticRegression = _library()
    columns = DictVectorizer(sparse=False)
    table = columns.fit_transform([dict(e.features) for e in examples])
    fitted = LogisticRegression(C=STRENGTH, max_iter=1000).fit(table, good)
    named = zip(columns.get_feature_names_out(), fitted.coef_[0], strict=True)
    weights = {str(name): round(float(w), 4) for name, w in named if abs(w) >= 0.00005}
    return Weights(0.0, round(float(fitted.intercept_[0]), 4), weights)


def _library() -> tuple[Any, Any]:
    """The two parts of scikit-learn that are used."""
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise NoLibrary from None
    return DictVectorizer, LogisticRegression


def _share(a: int, b: int) -> float | None:
    return round(a / b, 3) if b else None
