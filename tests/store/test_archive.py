"""What left the bank is kept, the newest of it, within a size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pmem.core.entry import Entry
from pmem.store import archive
from pmem.store.files import opened_dir


def leave(place: Path, first: int, count: int, max_bytes: int) -> None:
    with opened_dir(place) as dir_fd:
        for n in range(first, first + count):
            entry = Entry("knowledge", f"k{n}", "ä" * 50)
            archive.append(dir_fd, [(entry, "the bank is full")], max_bytes=max_bytes)


def kept(place: Path) -> list[str]:
    lines = (place / archive.NAME).read_text("utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines]


def test_beyond_its_size_the_newest_entries_stay_whole(tmp_path: Path) -> None:
    leave(tmp_path, 0, 200, 8000)
    assert (tmp_path / archive.NAME).stat().st_size <= 8000
    ids = kept(tmp_path)
    assert 20 < len(ids) < 200
    assert ids == [f"k{n}" for n in range(200 - len(ids), 200)]
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == [archive.NAME]
    assert (tmp_path / archive.NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("max_bytes", [0, 1 << 30])
def test_within_its_size_or_without_one_all_stay(tmp_path: Path, max_bytes: int) -> None:
    leave(tmp_path, 0, 60, max_bytes)
    assert len(kept(tmp_path)) == 60


def test_a_torn_line_and_one_that_is_larger_than_all_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / archive.NAME).write_bytes(b'{"id": "to' + b"x" * 3000 + b"\n")
    leave(tmp_path, 0, 3, 1000)
    assert kept(tmp_path)[-1] == "k2"
    with opened_dir(tmp_path) as dir_fd:
        archive.append(dir_fd, [(Entry("knowledge", "big", "y" * 2000), "full")], max_bytes=500)
    assert (tmp_path / archive.NAME).read_bytes() == b""
    leave(tmp_path, 5, 1, 500)
    assert kept(tmp_path) == ["k5"]
