"""A dataset: recorded runs with labels of when a reminder would have helped.

A folder with `manifest.jsonl` (one run a line: id, set, n_steps), `steps/ID.jsonl` (a header,
then neutral steps) and `labels/labels.jsonl` (`intervene` with `before_step`, `earliest`,
`latest`, `reason`, `confidence`, or `silence` with `from` and `to`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmem.core import json_text

#: Steps of these kinds are not made by the agent: no decision stands before them.
NOT_THE_AGENTS = ("user", "compaction")


@dataclass(frozen=True, slots=True)
class Label:
    """One point at which a reminder would have helped, anywhere from `earliest` to `latest`."""

    before_step: int
    earliest: int
    latest: int
    reason: str
    confidence: str
    needs_action_preview: bool
    reminder: str = ""
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded run: its header, its steps as lines, its labels and its silent stretches."""

    id: str
    set: str
    header: Mapping[str, Any]
    lines: Sequence[Mapping[str, Any]]
    labels: Sequence[Label]
    silent: Sequence[tuple[int, int]]

    @property
    def decision_points(self) -> list[int]:
        """The steps that the agent made."""
        return [s["step"] for s in self.lines if s["kind"] not in NOT_THE_AGENTS]


def load_dataset(folder: Path) -> list[Run]:
    """All runs of a dataset, in the manifest's order.

    Raises ValueError with a sentence naming the file if one is missing or broken.
    """
    labels: dict[str, list[Mapping[str, Any]]] = {}
    for row in _rows(folder / "labels" / "labels.jsonl"):
        labels.setdefault(row["trajectory"], []).append(row)
    runs = []
    for row in _rows(folder / "manifest.jsonl"):
        header, *lines = _rows(folder / "steps" / f"{row['id']}.jsonl")
        own = labels.get(row["id"], [])
        runs.append(
            Run(
                row["id"],
                row.get("set", ""),
                header,
                lines,
                [_label(r) for r in own if r["type"] == "intervene"],
                [(r["from"], r["to"]) for r in own if r["type"] == "silence"],
            )
        )
    return runs


def _label(row: Mapping[str, Any]) -> Label:
    return Label(
        row["before_step"],
        row["earliest"],
        row["latest"],
        row["reason"],
        row["confidence"],
        bool(row.get("needs_action_preview")),
        row.get("reminder", ""),
        tuple(row.get("evidence", ())),
    )


def numbered_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with one a line, with their line numbers.

    Raises ValueError with a sentence naming file and line if it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error.reason}") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                row = json_text.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: it is no object")
            yield number, row


def _rows(path: Path) -> list[dict[str, Any]]:
    return [row for _, row in numbered_rows(path)]
