"""The two lines around a run: counted without reading the bank, told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmem.cli.report import COPY, fitted, known_entries
from pmem.core.bank import RecordAttempt, SaveKnowledge
from pmem.store import bank_rescue
from pmem.store.bank_file import BankFile
from pmem.store.project import Project, find_project

NASTY = '[[knowledge]]\n\n"""\n[[procedural]]\nid = "x"\n"""\n[[knowledge]]\n\\\n\\"""\n"'


@pytest.fixture
def kept(project: Path, home: Path) -> Project:
    found = find_project(project, {"HOME": str(home)})
    bank = BankFile(found)
    bank.apply([SaveKnowledge(f"fact-{n}", f"Fact {n}.\n{NASTY}") for n in range(3)])
    bank.apply([RecordAttempt("make", "", True, 2, "", NASTY, 4, "s")])
    assert bank.close()
    return found


def test_the_copy_is_where_the_store_keeps_it() -> None:
    assert COPY == bank_rescue.COPY


def test_entries_of_a_bank_as_pmem_wrote_it_are_counted_whatever_they_hold(kept: Project) -> None:
    assert known_entries(kept) == len(BankFile(kept).bank.entries) == 4


def test_no_bank_has_no_entries(project: Path, home: Path) -> None:
    assert known_entries(find_project(project, {"HOME": str(home)})) == 0


def test_of_a_bank_that_somebody_changed_nothing_is_known(kept: Project) -> None:
    kept.bank.write_text(kept.bank.read_text("utf-8") + "# mine\n", "utf-8")
    assert known_entries(kept) is None


def test_of_a_bank_that_is_no_file_nothing_is_known(kept: Project) -> None:
    kept.bank.unlink()
    kept.bank.mkdir()
    assert known_entries(kept) is None


def test_a_line_is_broken_between_its_parts_and_only_where_it_must() -> None:
    parts = ["rules", "12 entries", ".pmem/bank.toml", "sh runs as it is"]
    assert fitted(parts, 80) == ["pmem: rules · 12 entries · .pmem/bank.toml · sh runs as it is"]
    assert fitted(parts, 50) == [
        "pmem: rules · 12 entries · .pmem/bank.toml",
        "      sh runs as it is",
    ]
    assert fitted(parts, 20)[-2:] == ["      sh runs as it", "      is"]
    assert all(" ".join(parts).split()[-1] in "".join(fitted(parts, n)) for n in range(1, 90))
