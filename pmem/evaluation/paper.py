"""The paper's tables as data: its figures, and the settings that make a row of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pmem.evaluation.results import Config


@dataclass(frozen=True)
class Row:
    """A row of the paper's tables. `passed` is pass@1 in percent by domain; `tasks` counts.

    `again` is what the table of ablations has for the same row, where it has other figures.
    """

    name: str
    table: str
    benchmark: str
    arm: str
    action_model: str
    memory_model: str
    interval: int
    window: int
    action_temperature: float
    memory_temperature: float
    turns: int
    tasks: Mapping[str, int]
    passed: Mapping[str, float]
    again: Mapping[str, float] | None = None

    @property
    def pure(self) -> bool:
        """Whether the paper's own form of the arm is meant, where we have another too."""
        return self.arm == "selective"

    @property
    def macro(self) -> float:
        """The mean of the domains."""
        return _macro(self.passed)

    @property
    def weighted(self) -> float:
        """The mean over tasks."""
        return _weighted(self.passed, self.tasks)

    @property
    def averages_again(self) -> tuple[float, float] | None:
        """Both averages of `again`, by task and macro."""
        if self.again is None:
            return None
        return _weighted(self.again, self.tasks), _macro(self.again)


@dataclass(frozen=True)
class Assumed:
    """What a trial of a benchmark is taken to need, in steps and tokens a call."""

    steps: float
    action_input: float
    action_output: float
    memory_input: float
    memory_output: float


def rows() -> list[Row]:
    """All rows, in the order of the paper's tables."""
    told = _told()
    return [_row(name, row, told) for name, row in told["rows"].items()]


def row_named(name: str) -> Row:
    """One row. Raises ValueError with the names there are."""
    found = {row.name: row for row in rows()}
    if name not in found:
        raise ValueError(f"the paper has no row {name!r}; there are {', '.join(found)}")
    return found[name]


def row_like(benchmark: str, arm: str, action_model: str) -> Row | None:
    """The paper's row for what was run, None if it has none."""
    same = (row for row in rows() if (row.benchmark, row.arm) == (benchmark, arm))
    return next((row for row in same if is_model(action_model, row.action_model)), None)


def is_model(name: str, wanted: str) -> bool:
    """Whether a model's name, with whatever provider in front or date behind, is the wanted one."""
    plain = name.replace(".", "-").rpartition("/")[2].rpartition(":")[2]
    wanted = wanted.rpartition(":")[2]
    return plain == wanted or (
        plain.startswith(f"{wanted}-") and plain[len(wanted) + 1 :].isdigit()
    )


def config_of(row: Row) -> Config:
    """The configuration that runs a row. Tasks are numbered: their names are the benchmark's."""
    return Config(
        benchmark=row.benchmark,
        arm=row.arm,
        pure=row.pure,
        action_model=row.action_model,
        memory_model=row.memory_model,
        interval=row.interval,
        window=row.window,
        action_temperature=row.action_temperature,
        memory_temperature=row.memory_temperature,
        turns=row.turns,
        tasks={name: [str(task) for task in range(n)] for name, n in row.tasks.items()},
    )


def assumed(benchmark: str) -> Assumed:
    """What a dry run assumes of a trial where nothing was measured."""
    return Assumed(**_told()["assumed"][benchmark])


def title(benchmark: str) -> str:
    """A benchmark's own name; ours where the paper has none."""
    found = _told()["benchmarks"].get(benchmark)
    return str(found["title"]) if found else benchmark


def _row(name: str, row: Mapping[str, Any], told: Mapping[str, Any]) -> Row:
    benchmark, actor, arm = name.split("-")
    settings, where = told["settings"], told["benchmarks"][benchmark]
    return Row(
        name=name,
        table=row["table"],
        benchmark=benchmark,
        arm=arm,
        action_model=told["actors"][actor],
        memory_model="" if arm == "off" else settings["memory_model"],
        interval=settings["interval"],
        window=settings["window"],
        action_temperature=settings["action_temperature"],
        memory_temperature=settings["memory_temperature"],
        turns=where["turns"],
        tasks=where["domains"],
        passed=row["pass"],
        again=row.get("again"),
    )


def _macro(passed: Mapping[str, float]) -> float:
    return sum(passed.values()) / len(passed)


def _weighted(passed: Mapping[str, float], tasks: Mapping[str, int]) -> float:
    return sum(passed[domain] * n for domain, n in tasks.items()) / sum(tasks.values())


@lru_cache(maxsize=1)
def _told() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))
