"""`pmem train sft` from the command line, before anything is trained: what it will not do, and why.
What it learns is tested where the libraries are, in tests/training/test_sft.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
ROW = {
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "<no_intervention/>"},
    ],
    "tools": [],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.jsonl").write_text(json.dumps(ROW) + "\n")
    (folder / "validation.jsonl").write_text("")
    return folder


def sft(pmem: Call, data: Path, out: Path, *more: str) -> Any:
    return pmem("train", "sft", "--model", "m", "--data", str(data), "-o", str(out), *more)


def test_without_the_libraries_it_says_how_to_get_them(
    pmem: Call, data: Path, tmp_path: Path
) -> None:
    said = sft(pmem, data, tmp_path / "out")
    assert said.code == 125 and "training needs TRL and torch" in said.err
    assert "pip install" in said.err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (None, "there is no train.jsonl in"),
        ("", "there is no row in"),
        ('{"messages": []}', "row 1 of"),
        ('{"messages": [1, 2, 3]}', "is no conversation of a memory agent"),
        (json.dumps({**ROW, "messages": ROW["messages"][:2]}), "is no conversation"),
        (json.dumps({"messages": [*ROW["messages"][:2], {"role": "assistant", "content": "hm"}]}),
         "is no conversation"),
    ],
)  # fmt: skip
def test_a_data_set_that_is_none_is_told(
    pmem: Call, data: Path, tmp_path: Path, row: str | None, why: str
) -> None:
    file = data / "train.jsonl"
    file.unlink() if row is None else file.write_text(row + "\n" if row else "")
    said = sft(pmem, data, tmp_path / "out")
    assert said.code == 2 and why in said.err and "Traceback" not in said.err


def test_a_directory_of_something_else_is_left_alone(
    pmem: Call, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("mine")
    said = sft(pmem, data, tmp_path / "out")
    assert said.code == 2 and "holds something else" in said.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]
