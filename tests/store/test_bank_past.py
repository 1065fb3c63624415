"""A person edits bank.toml in an editor while sessions write it: nothing is lost on either side."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.bank import Delete, RecordAttempt, SaveKnowledge, UpdateStatus
from pmem.store.bank_file import BankFile
from pmem.store.project import Project, find_project


def fact(id: str, content: str = "x") -> SaveKnowledge:
    return SaveKnowledge(id, content)


def ran(command: str, step: int, *, failed: bool = True) -> RecordAttempt:
    why = "no" if failed else ""
    return RecordAttempt(command, "", failed, int(failed), why, f"out {step}\n", step, "s")


def wrote(bank: BankFile, *ops: object) -> None:
    bank.apply(ops)  # type: ignore[arg-type]
    assert bank.flush(1.0)


def saved(project: Project, text: str) -> None:
    """As editors save: a new file in the old one's place."""
    new = project.bank.with_suffix(".swp")
    new.write_text(text, encoding="utf-8")
    new.replace(project.bank)


@pytest.fixture
def bank(project: Project) -> BankFile:
    """A running session's bank with three entries."""
    made = BankFile(project)
    wrote(made, fact("a"), fact("b"), ran("make", 1))
    return made


def texts(project: Project) -> dict[str, str]:
    return {id: e.content for id, e in BankFile(project).bank.entries.items()}


def test_what_was_written_while_the_editor_was_open_stays(project: Project, bank: BankFile) -> None:
    opened = project.bank.read_text()
    wrote(bank, fact("new"), ran("make", 2), UpdateStatus("later"))
    wrote(bank, fact("newer"), Delete("b"))
    saved(project, opened.replace('content = "x"', 'content = "by hand"', 1))
    assert bank.refresh()
    assert bank.close()
    entries = BankFile(project).bank.entries
    assert entries["a"].content == "by hand"
    assert {"new", "newer"} <= entries.keys()
    assert "b" not in entries
    assert entries["make"].attempts == 2
    assert BankFile(project).bank.status == "later"
    assert bank.notes == []


def test_an_entry_that_both_changed_in_other_fields_has_both(
    project: Project, bank: BankFile
) -> None:
    opened = project.bank.read_text()
    wrote(bank, ran("make", 2))
    saved(project, opened.replace('command = "make"', 'command = "make"\nnote = "mine"'))
    assert bank.refresh()
    assert bank.close()
    entry = BankFile(project).bank.entries["make"]
    assert (entry.note, entry.attempts, entry.failed_steps) == ("mine", 2, (1, 2))


def test_a_field_that_both_changed_stays_the_person_s_and_is_told(
    project: Project, bank: BankFile
) -> None:
    opened = project.bank.read_text()
    wrote(bank, fact("a", "by the model"))
    saved(project, opened.replace('content = "x"', 'content = "by hand"', 1))
    assert bank.refresh()
    assert bank.close()
    assert texts(project)["a"] == "by hand"
    assert any("a was changed by two hands" in note for note in bank.notes)


def test_what_a_person_deletes_stays_deleted(project: Project, bank: BankFile) -> None:
    text = project.bank.read_text()
    at = text.index('[[knowledge]]\nid = "b"')
    saved(project, text[:at] + text[text.index("[[procedural]]") :])
    assert bank.refresh()
    wrote(bank, fact("c"))
    assert set(texts(project)) == {"a", "make", "c"}


def test_what_another_pmem_forgets_stays_forgotten(project: Project, bank: BankFile) -> None:
    wrote(bank, fact("newest"))
    other = BankFile(project)
    wrote(other, Delete("newest"))
    assert bank.refresh()
    wrote(bank, fact("c"))
    assert "newest" not in texts(project)


def test_saved_twice_from_the_same_editor(project: Project, bank: BankFile) -> None:
    opened = project.bank.read_text()
    wrote(bank, fact("new"))
    first = opened.replace('content = "x"', 'content = "first"', 1)
    saved(project, first)
    wrote(bank, fact("newer"))
    saved(project, first.replace('id = "b"\ncontent = "x"', 'id = "b"\ncontent = "second"'))
    assert bank.refresh()
    assert bank.close()
    assert texts(project) == {
        "a": "first", "b": "second", "new": "x", "newer": "x", "make": texts(project)["make"],
    }  # fmt: skip


def test_without_a_revision_the_file_stands_as_it_is(project: Project, bank: BankFile) -> None:
    wrote(bank, fact("new"))
    saved(project, '[[knowledge]]\nid = "only"\ncontent = "this"\n')
    assert bank.refresh()
    assert bank.close()
    assert set(texts(project)) == {"only"}


OPS = st.lists(
    st.one_of(
        st.sampled_from("abcd").map(fact),
        st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")).map(lambda p: fact(*p)),
        st.sampled_from("abcd").map(Delete),
        st.integers(1, 9).map(lambda n: ran("make", n)),
    ),
    max_size=4,
)


@examples(40)
@given(before=OPS, meanwhile=st.lists(OPS, max_size=3), edit=st.sampled_from("abcde"))
def test_an_older_copy_with_one_more_entry_costs_nothing(
    tmp_path_factory: pytest.TempPathFactory, before, meanwhile, edit
) -> None:
    """Whatever was written meanwhile: all of it stays, and the person's own entry is there."""
    root = tmp_path_factory.mktemp("project")
    project = find_project(root, {"HOME": str(root)}, root / "memory")
    bank = BankFile(project)
    wrote(bank, fact("first"), *before)
    opened = project.bank.read_text()
    for ops in meanwhile:
        wrote(bank, *ops)
    expected = dict(bank.bank.entries)
    saved(project, f'{opened}\n[[knowledge]]\nid = "{edit}-by-hand"\ncontent = "mine"\n')
    assert bank.refresh()
    assert bank.close()
    entries = BankFile(project).bank.entries
    assert entries.pop(f"{edit}-by-hand").content == "mine"
    assert entries == expected


WRITER = """
import os, sys
from pathlib import Path
from pmem.core.bank import SaveKnowledge
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project
bank = BankFile(find_project(Path(sys.argv[1]), os.environ))
for n in range(30):
    bank.refresh()
    bank.apply([SaveKnowledge(f"s{n}", f"fact {n}")])
    assert bank.flush(10.0), bank.problem
    sys.stdin.readline()
bank.close()
"""


def test_a_person_and_a_session_in_processes_of_their_own(project: Project) -> None:
    """After each write of the session an editor saves what it had opened three writes ago."""
    session = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(project.root)],
        stdin=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )
    assert session.stdin is not None
    opened: list[str] = []
    for n in range(30):
        while f"s{n}" not in texts(project):
            assert session.poll() is None
        opened.append(project.bank.read_text())
        if n >= 3:
            saved(project, f'{opened[-4]}\n[[knowledge]]\nid = "p{n}"\ncontent = "by hand"\n')
        session.stdin.write("\n")
        session.stdin.flush()
    session.stdin.close()
    assert session.wait(60) == 0
    assert {f"s{n}" for n in range(30)} <= set(texts(project))
    assert {f"p{n}" for n in range(3, 30)} <= set(texts(project))
