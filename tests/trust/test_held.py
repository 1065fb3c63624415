"""What a session of a week holds: bounded by number, not by time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rings import HOOK, Kept, ran, ring, wants

from pmem.core.bank import MAX_ENTRIES, Entry, MemoryBank, SaveKnowledge
from pmem.core.event import Observed
from pmem.core.step import Step
from pmem.session.hands import MAX_UNDER_WAY, Hands
from pmem.session.session import MAX_LANES
from pmem.store import bank_file
from pmem.store.bank_file import BankFile
from pmem.store.bank_past import MAX_HELD, Past
from pmem.store.project import Project, find_project


def test_of_the_banks_earlier_versions_so_many_entries_are_held() -> None:
    past = Past()
    for revision in range(1, 60):
        entries = [Entry("knowledge", f"k{n}", f"{revision}") for n in range(100)]
        bank = MemoryBank("", entries)
        bank.revision = revision
        past.took(bank)
    held = sum(len(change.entries) for change in past._changes)
    assert MAX_HELD - 100 <= held <= MAX_HELD


def test_agents_that_came_and_went_are_forgotten_and_the_first_one_is_not() -> None:
    session = ring(None, Kept())
    session.handle(ran("make"), HOOK)
    for n in range(3 * MAX_LANES):
        step = Step(0, "command", "make", "", exit_code=0, cwd="/p", agent_id=f"sub{n}")
        session.handle(Observed(step), HOOK)
    assert len(session.lanes) == MAX_LANES
    assert {None, f"sub{3 * MAX_LANES - 1}"} <= session.lanes.keys()


def test_entries_that_left_the_bank_are_no_longer_counted_as_new() -> None:
    kept = Kept()
    session = ring(None, kept)
    for n in range(4 * MAX_ENTRIES):
        session.scribe.apply([SaveKnowledge(f"k{n}", "so")])
        kept.bank.remove(f"k{n - 10}")
    assert session.new_entries == 10
    assert len(session.tally.made) <= 2 * MAX_ENTRIES + 11


def test_steps_that_never_end_are_merged_and_what_they_may_do_is_not_forgotten() -> None:
    hands = Hands()
    hands.after(wants("pmem bank add x"), HOOK, held=False)
    for n in range(3 * MAX_UNDER_WAY):
        hands.after(wants(f"sleep {n}"), HOOK, held=False)
    assert len(hands._under_way) == MAX_UNDER_WAY
    assert hands.at_work() == "bank"


# -- what another session wrote may wait; what a person or a command wrote may not ----------------


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return find_project(tmp_path, os.environ)


def _sessions(project: Project, monkeypatch: pytest.MonkeyPatch) -> tuple[BankFile, BankFile]:
    one, other = BankFile(project), BankFile(project)
    one.apply([SaveKnowledge("first", "It is so.")])
    assert one.flush() and other.refresh()
    one.patient = other.patient = True
    monkeypatch.setattr(bank_file, "BEHIND", 1000.0)
    one.apply([SaveKnowledge("second", "It is so, too.", source="user")])
    one._not_before = 0.0
    one.tend()
    return one, other


def test_what_another_session_wrote_is_read_when_nobody_waits(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, other = _sessions(project, monkeypatch)
    assert not other.refresh() and "second" not in other.bank.entries
    monkeypatch.setattr(bank_file, "BEHIND", 0.0)
    other.tend()
    assert "second" in other.bank.entries
    assert other.bank.entries["second"].source == "user"


def test_it_does_not_wait_for_ever(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = _sessions(project, monkeypatch)
    assert not other.refresh()
    moment = other.wait(0.0)
    assert moment is not None
    one.apply([SaveKnowledge("third", "Written later.")])
    assert one.flush()
    assert not other.refresh()
    assert other.wait(0.0) == moment
    assert other.due(moment)


def test_whose_hand_was_at_work_is_not_forgotten_while_it_waits(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, other = _sessions(project, monkeypatch)
    other.at_work = lambda: "bank"
    assert not other.refresh()
    other.at_work = str
    assert other.close()
    assert other.bank.entries["second"].source == "agent"


def test_a_command_and_an_editor_are_heard_at_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, other = _sessions(project, monkeypatch)
    assert not other.refresh()
    command = BankFile(project)
    command.apply([SaveKnowledge("third", "By hand.", source="user")])
    assert command.flush()
    assert other.refresh() and {"second", "third"} <= other.bank.entries.keys()
    project.bank.write_text(project.bank.read_text().replace("By hand.", "By an editor."))
    assert other.refresh() and other.bank.entries["third"].content == "By an editor."
