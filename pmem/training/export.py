"""Export: recorded memory steps become a data set on disk, with a card that tells what it is.

What a source gave is kept in `DIR/parts` until all are done, so that a run which was stopped goes
on from there.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from pmem.core.redact import redactor
from pmem.store import files
from pmem.store.jsonl import Lines, encode
from pmem.training.card import card
from pmem.training.rows import Row, row_of
from pmem.training.sources import Source, keep

PARTS = "parts"
TRAIN, VALIDATION, CARD = "train.jsonl", "validation.jsonl", "README.md"
_PART = 1


@dataclass
class Exported:
    """What an export holds: its rows by side, and what was left out and why."""

    train: list[Row] = field(default_factory=list)
    validation: list[Row] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    sources: int = 0
    sessions: int = 0

    @property
    def rows(self) -> list[Row]:
        """Those of both sides."""
        return self.train + self.validation

    def to_json(self) -> dict[str, Any]:
        """As `pmem train export --json` tells it."""
        return {
            "rows": len(self.rows),
            "train": len(self.train),
            "validation": len(self.validation),
            "tasks": len({row.task for row in self.rows}),
            "kinds": dict(Counter(row.kind for row in self.rows)),
            "tokens": histogram(row.tokens for row in self.rows),
            "sources": self.sources,
            "left_out": dict(self.left.most_common()),
        }


def export(
    sources: Sequence[Source],
    folder: Path,
    *,
    secrets: Sequence[str] = (),
    everything: bool = False,
    share: float = 0.1,
    progress: Callable[[], None] = lambda: None,
) -> Exported:
    """Write `train.jsonl`, `validation.jsonl` and a card into a directory, for its user alone.

    Secrets are taken out of every text, those that the expressions in `secrets` match among them;
    `share` of the tasks are for validation; `progress` is called once a source is done.
    Raises OSError if something cannot be read or written, ValueError for a bad expression.
    """
    redact = redactor(secrets)
    key = sha256(repr((sorted(secrets), everything)).encode()).hexdigest()[:8]
    done = Exported(sources=len(sources), sessions=sum(s.is_session for s in sources))
    seen: set[str] = set()
    rows: list[Row] = []
    for source in sources:
        part = folder / PARTS / f"{source.stamp}-{key}.jsonl"
        found = _read(part) or _gather(source, part, redact, everything)
        done.left.update(found.left)
        for row in found.rows:
            if row.print in seen:
                done.left["the same is there already"] += 1
            else:
                seen.add(row.print)
                rows.append(row)
        progress()
    held = held_out({row.task for row in rows}, share)
    done.train = [row for row in rows if row.task not in held]
    done.validation = [row for row in rows if row.task in held]
    for name, side in ((TRAIN, done.train), (VALIDATION, done.validation)):
        files.write_file(folder / name, b"".join(encode(row.to_json()) for row in side))
    text = card(done.to_json(), sessions=done.sessions, everything=everything)
    files.write_file(folder / CARD, text.encode())
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    return done


def held_out(tasks: Iterable[str], share: float) -> set[str]:
    """The tasks for validation: a task stays on its side when others are added. Of several tasks
    at least one is held out, and never all."""
    ordered = sorted(tasks)
    if share <= 0 or len(ordered) < 2:
        return set()
    held = {task for task in ordered if int(task[:8], 16) < share * 16**8}
    return (held or {ordered[0]}) if len(held) < len(ordered) else set(ordered[:-1])


def histogram(tokens: Iterable[int]) -> dict[str, int]:
    """How many rows have how many tokens, by the power of two they stay below."""
    bins = Counter(max(n, 1).bit_length() for n in tokens)
    return {
        f"<{2**size}": bins[size] for size in range(min(bins, default=0), max(bins, default=-1) + 1)
    }


@dataclass
class _Part:
    rows: list[Row]
    left: Counter[str]


def _gather(source: Source, part: Path, redact: Callable[[str], str], everything: bool) -> _Part:
    kept = keep(source, everything=everything)
    rows = []
    for talk in kept.talks:
        row = row_of(talk, redact)
        if row is None:
            kept.left["its answer cannot be read"] += 1
        else:
            rows.append(row)
    head = {"part": _PART, "left": kept.left, "rows": len(rows)}
    lines = [encode(head), *(encode(asdict(row)) for row in rows)]
    files.write_file(part, b"".join(lines), sync=False)
    return _Part(rows, kept.left)


def _read(part: Path) -> _Part | None:
    """What a run that was stopped found in a source, None if it did not get that far."""
    records = list(Lines(part))
    if not records or records[0].get("part") != _PART or records[0]["rows"] != len(records) - 1:
        return None
    return _Part([Row(**record) for record in records[1:]], Counter(records[0]["left"]))
