"""Changes by a person, one at a time: undone, done again, and beside another writer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made import npm_test

from pmem.core.bank import Amend, Delete, SaveKnowledge
from pmem.review.desk import Conflict, Desk
from pmem.store.bank_file import BankFile
from pmem.store.project import Project


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(BankFile(project))


def elsewhere(project: Project, *ops: object) -> None:
    other = BankFile(project)
    other.apply(ops)  # type: ignore[arg-type]
    assert other.close()


def test_every_change_is_undone_and_done_again(project: Project, desk: Desk) -> None:
    first = dict(desk.entries)
    states = [first]
    desk.add("A fact.")
    states.append(dict(desk.entries))
    desk.amend(desk.entries["port"], content="changed", source="user")
    states.append(dict(desk.entries))
    desk.pin(desk.entries["npm-test"])
    states.append(dict(desk.entries))
    desk.delete(desk.entries["port"], desk.entries["npm-test"])
    states.append(dict(desk.entries))
    for before in reversed(states[:-1]):
        assert desk.undo().startswith("undone")
        assert dict(desk.entries) == before
    assert desk.undo() == "there is nothing to undo"
    for after in states[1:]:
        assert desk.redo().startswith("done again")
        assert dict(desk.entries) == after
    assert desk.redo() == "there is nothing to redo"
    assert dict(BankFile(project).bank.entries) == states[-1]


def test_an_undo_that_would_overwrite_somebody_s_words_is_refused(project, desk) -> None:
    desk.amend(desk.entries["port"], content="mine")
    elsewhere(project, Amend("port", {"content": "mine"}, {"content": "theirs"}))
    desk.bank_file.refresh()
    assert "changed by somebody else" in desk.undo()
    assert BankFile(project).bank.entries["port"].content == "theirs"


def test_an_entry_that_was_deleted_meanwhile_comes_back_whole(project, desk) -> None:
    before = desk.entries["npm-test"]
    elsewhere(project, Delete("npm-test"))
    conflict = desk.amend(before, content="mine")
    assert isinstance(conflict, Conflict)
    assert conflict.theirs is None
    assert desk.insist(conflict) == "npm-test is back"
    assert BankFile(project).bank.entries["npm-test"] == replace(npm_test(), content="mine")


def test_relying_on_a_stale_entry_again_can_be_undone(project: Project, desk: Desk) -> None:
    stale = replace(desk.entries["port"], stale="a.toml has changed", files={"a.toml": "12"})
    desk.bank_file.bank.put(stale)
    desk.trust(stale)
    assert (desk.entries["port"].stale, desk.entries["port"].files) == ("", {})
    desk.undo()
    assert desk.entries["port"] == stale


def test_nothing_is_no_fact(desk: Desk) -> None:
    with pytest.raises(ValueError, match="nothing to remember"):
        desk.add("  \n")


def test_a_bank_that_cannot_be_written_is_said(project: Project, desk: Desk) -> None:
    project.bank.write_text("schema = 99\n")
    said = desk.amend(desk.entries["port"], content="mine")
    assert "not written" in str(said)
    assert project.bank.read_text() == "schema = 99\n"


def test_what_another_session_writes_stays(project: Project, desk: Desk) -> None:
    elsewhere(project, SaveKnowledge("new", "theirs"))
    desk.amend(desk.entries["port"], content="mine")
    entries = BankFile(project).bank.entries
    assert (entries["new"].content, entries["port"].content) == ("theirs", "mine")
