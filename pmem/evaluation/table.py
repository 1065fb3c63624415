"""The figures of results folders: how much was solved, at what price, and against which arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pmem.evaluation.paper import Row, row_like
from pmem.evaluation.proportions import mcnemar, wilson
from pmem.evaluation.results import Results, Took, Trial


@dataclass(frozen=True)
class Share:
    """Solved trials of all, as pass@1 with its interval of 95 %; all in percent."""

    solved: int
    trials: int

    @property
    def passed(self) -> float:
        """pass@1."""
        return 100 * self.solved / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, with every trial counted as one of its own."""
        low, high = wilson(self.solved, self.trials)
        return 100 * low, 100 * high


@dataclass(frozen=True)
class Paired:
    """The same trials under two arms: how many only the one solved, and only the other."""

    pairs: int
    gained: int
    lost: int

    @property
    def gain(self) -> float:
        """Points of pass@1 over the other arm, on these pairs."""
        return 100 * (self.gained - self.lost) / self.pairs

    @property
    def p(self) -> float:
        """McNemar's exact test."""
        return mcnemar(self.gained, self.lost)


@dataclass
class Figures:
    """One results folder in figures, named by its arm, and its folder where several are alike.

    `beside` is the paper's row for the same, where it has one.
    """

    name: str
    results: Results
    domains: dict[str, Share]
    paired: Paired | None
    beside: Row | None
    base: bool = False

    @property
    def whole(self) -> Share:
        """Over trials: the task-weighted average."""
        shares = self.domains.values()
        return Share(sum(s.solved for s in shares), sum(s.trials for s in shares))

    @property
    def macro(self) -> float:
        """The mean of the domains' pass@1."""
        return sum(share.passed for share in self.domains.values()) / len(self.domains)

    @property
    def took(self) -> Took:
        """What both models took."""
        return _sum(t.action + t.memory for t in self.results.trials)

    @property
    def per_solved(self) -> float | None:
        """US dollars for a solved task; None where nothing is solved or a price is not known."""
        money = self.took.money
        return money / self.whole.solved if money is not None and self.whole.solved else None

    @property
    def silence(self) -> float | None:
        """Of the calls memory could speak before, those without a note; None without memory."""
        points = sum(t.points for t in self.results.trials)
        return 1 - sum(t.spoke for t in self.results.trials) / points if points else None

    @property
    def broken(self) -> int:
        """Trials that ended in an error; they count as not solved."""
        return sum(bool(t.error) for t in self.results.trials)

    def to_json(self) -> dict[str, Any]:
        """As `pmem eval table --json` tells it; shares in percent, money in US dollars."""
        config, whole, beside = self.results.config, self.whole, self.beside
        took = self.took
        return {
            "folder": str(self.results.folder),
            "benchmark": config.benchmark,
            "arm": config.name,
            "action_model": config.action_model,
            "memory_model": config.memory_model,
            "trials": whole.trials,
            "of": config.trials,
            "broken": self.broken,
            "solved": whole.solved,
            "pass": round(whole.passed, 2),
            "interval": _rounded(whole.interval),
            "macro": round(self.macro, 2),
            "domains": {
                name: {
                    "trials": share.trials,
                    "pass": round(share.passed, 2),
                    "interval": _rounded(share.interval),
                }
                for name, share in self.domains.items()
            },
            "against": None
            if self.paired is None
            else {
                "pairs": self.paired.pairs,
                "gained": self.paired.gained,
                "lost": self.paired.lost,
                "gain": round(self.paired.gain, 2),
                "mcnemar_p": round(self.paired.p, 4),
            },
            "silence": None if self.silence is None else round(self.silence, 3),
            "money": None if took.money is None else round(took.money, 4),
            "money_per_solved": None if self.per_solved is None else round(self.per_solved, 4),
            "tokens": {"input": took.input, "output": took.output, "cache_read": took.cache_read},
            "seconds": round(sum(t.seconds for t in self.results.trials), 1),
            "memory_seconds": round(sum(t.memory_seconds for t in self.results.trials), 1),
            "paper": None
            if beside is None
            else {
                "row": beside.name,
                "pass": round(beside.weighted, 2),
                "macro": round(beside.macro, 2),
                "domains": dict(beside.passed),
            },
        }


def figures(all_results: Sequence[Results], base: Results | None = None) -> list[Figures]:
    """Each folder in figures, against `base` or else the first of the arm `off`.

    A folder is paired with one of its own benchmark and action model only. Raises ValueError with a
    sentence if a folder has no finished trial.
    """
    bases = [base] if base is not None else [r for r in all_results if r.config.arm == "off"]
    rows = [
        _figures(results, next((b for b in bases if _like(b, results)), None))
        for results in all_results
    ]
    for mine in together(rows):
        times = Counter(row.name for row in mine)
        for row in mine:
            if times[row.name] > 1:
                row.name += f" ({row.results.folder.name})"
    return rows


def together(rows: Iterable[Figures]) -> list[list[Figures]]:
    """The rows that can be compared with each other: of one benchmark and one action model."""
    found: dict[tuple[str, str], list[Figures]] = {}
    for row in rows:
        config = row.results.config
        found.setdefault((config.benchmark, config.action_model), []).append(row)
    return list(found.values())


def pairs(first: Iterable[Trial], second: Iterable[Trial]) -> Paired | None:
    """The trials that both have, by domain, task and number; None if there is none.

    `gained` are those that only the first solved.
    """
    other = {trial.id: trial.solved for trial in second}
    both = [(trial.solved, other[trial.id]) for trial in first if trial.id in other]
    if not both:
        return None
    return Paired(len(both), both.count((True, False)), both.count((False, True)))


def _figures(results: Results, base: Results | None) -> Figures:
    config = results.config
    if not results.trials:
        raise ValueError(f"{results.folder} holds no finished trial yet")
    domains = {
        name: Share(sum(t.solved for t in mine), len(mine))
        for name in sorted({t.domain for t in results.trials})
        if (mine := [t for t in results.trials if t.domain == name])
    }
    is_base = base is not None and results.folder == base.folder
    return Figures(
        config.name,
        results,
        domains,
        pairs(results.trials, base.trials) if base is not None and not is_base else None,
        row_like(config.benchmark, config.arm, config.action_model),
        is_base,
    )


def _like(one: Results, other: Results) -> bool:
    return (one.config.benchmark, one.config.action_model) == (
        other.config.benchmark,
        other.config.action_model,
    )


def _sum(took: Iterable[Took]) -> Took:
    return reduce(lambda a, b: a + b, took, Took())


def _rounded(ends: tuple[float, float]) -> list[float]:
    return [round(end, 2) for end in ends]
