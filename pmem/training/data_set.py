"""A data set as `pmem train export` writes it, read again: its rows, by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pmem.store.jsonl import Lines
from pmem.training.export import TRAIN, VALIDATION
from pmem.training.rows import Kind, kind_of

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DataSet:
    """Rows of `messages` and `tools` for training and for validation; `stamp` is equal for equal
    files."""

    train: Sequence[Row]
    validation: Sequence[Row]
    stamp: str


def load_data_set(folder: Path) -> DataSet:
    """The data set of a directory. Raises ValueError with a sentence where there is none, or a row
    is no conversation."""
    files = [folder / TRAIN, folder / VALIDATION]
    if not files[0].is_file():
        raise ValueError(f"there is no {TRAIN} in {folder}; write one with pmem train export")
    try:
        stamp = sha256(b"\n".join(f.read_bytes() for f in files if f.is_file())).hexdigest()
        train, validation = (list(Lines(file)) for file in files)
    except OSError as error:
        raise ValueError(f"{folder} cannot be read: {error.strerror}") from None
    for file, rows in zip(files, (train, validation), strict=True):
        for n, row in enumerate(rows, 1):
            if not _is_conversation(row):
                raise ValueError(f"row {n} of {file} is no conversation of a memory agent")
    if not train:
        raise ValueError(f"there is no row in {files[0]}")
    return DataSet(train, validation, stamp)


def decided(row: Row) -> Kind:
    """What a row decides."""
    kind = kind_of(row["messages"][-1]["content"])
    assert kind is not None
    return kind


def _is_conversation(row: Row) -> bool:
    messages = row.get("messages")
    if not isinstance(messages, list) or len(messages) < 3:
        return False
    if not all(isinstance(m, dict) and isinstance(m.get("content"), str) for m in messages):
        return False
    roles = [m.get("role") for m in messages]
    return (
        roles[:2] == ["system", "user"]
        and roles[-1] == "assistant"
        and kind_of(messages[-1]["content"]) is not None
    )
