"""What grows with a session is bounded by number, and what is forgotten then does no harm."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from minds import NOTHING
from rings import HOOK, Kept, ran, ring, wants

from pmem.core.bank import Entry, MemoryBank, SaveKnowledge
from pmem.core.decision import Trigger
from pmem.core.deeds import MAX_EDITED, MAX_OUTCOMES, MAX_SUCCEEDED
from pmem.core.history import MAX_COMMANDS, MAX_FACTS, History
from pmem.core.moment import Moment
from pmem.core.step import Step
from pmem.core.watch import Watches
from pmem.memory.model import STYLES, ModelAgent
from pmem.memory.rules import Rules
from pmem.models.scripted import ScriptedModel
from pmem.session import guests
from pmem.session.mind import MAX_WANTS, Mind
from pmem.session.server import Server
from pmem.session.session import MAX_LANES
from pmem.store import authors, bank_file, cited
from pmem.store.bank_file import BankFile
from pmem.store.cited import CitedFiles
from pmem.store.project import find_project
from pmem.terminal.link import pair


def moment(number: int, trigger: Trigger) -> Moment:
    step = Step(number, "command", "make", "", exit_code=0)
    return Moment(trigger, "", [step], MemoryBank(), History())


def test_a_forgotten_agent_costs_the_model_one_call_more() -> None:
    mind = Mind(ModelAgent(ScriptedModel([NOTHING]), STYLES["selective"]))
    assert mind.ask("first", moment(1, Trigger.FINISH))
    assert not mind.ask("first", moment(1, Trigger.FINISH))  # nothing has happened since
    for n in range(3 * MAX_WANTS):
        mind.ask(f"sub{n}", moment(1, Trigger.FINISH))
    assert len(mind._wants) == MAX_WANTS
    assert mind.ask("first", moment(1, Trigger.FINISH))
    assert not mind.ask("first", moment(1, Trigger.FINISH))
    mind.close()


def test_a_forgotten_guest_is_known_again_with_its_next_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guests, "MAX_NAMES", 10)
    session = ring(Rules(), Kept())
    for n in range(35):
        session.guests.heard(f"claude-{n}", 0.0)
        assert len(session.guests._names) <= 10
    session.guests.heard("claude-1", 0.0)
    assert session.guests.lane("claude-1", "", session._lane).guest


def test_guests_that_came_and_went_leave_no_adapter_and_come_back() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    link, _ = pair()
    server = Server(session, kept, socket.socket(), link, "secret", print)
    names = [f"scripted-{n}" for n in range(2 * MAX_LANES)]
    for name in [*names, names[0]]:
        step = json.dumps({"event": "user", "text": name}).encode()
        server.reply(f"pmem1 secret@{name} scripted\n".encode() + step)
    assert len(server.adapters) == MAX_LANES and len(session.lanes) <= MAX_LANES
    assert [s.agent_id for s in kept.steps] == [*names, names[0]]


def test_of_what_watches_ask_for_the_latest_deeds_are_known() -> None:
    watches, history = Watches(), History()
    lint = {"command": "git commit*", "unless_ran": "*lint*"}
    bank = MemoryBank("", [Entry("knowledge", "w", "Run the linter first.", when=lint)])

    def told() -> int:
        action = wants("git commit -m x").action
        return len(watches.proposed(action, Moment(Trigger.PROPOSED, "", [], bank, history)))

    def do(number: int, command: str) -> None:
        step = Step(number, "command", command, "", exit_code=0, cwd="/p")
        watches.passed(step, history.observe(step))

    watches.arm(bank)
    assert told() == 1
    do(1, "npm run lint")
    for n in range(2, MAX_SUCCEEDED + 200):
        do(n, f"touch f{n}")
    deeds = watches._deeds
    assert len(deeds._succeeded) == MAX_SUCCEEDED
    assert len(deeds._edited) <= MAX_EDITED and len(deeds._failed) == MAX_OUTCOMES
    # The run itself is forgotten; what an armed watch asks for was noted when it happened.
    bank.put(Entry("knowledge", "ever", "So.", when={**lint, "since": "ever"}))
    bank.remove("w")
    assert told() == 0


def test_files_that_entries_cite_are_read_again_once_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cited, "MAX_KNOWN", 10)
    files = CitedFiles(tmp_path)
    for n in range(35):
        (tmp_path / f"f{n}.py").write_text(f"x = {n}\n")
    entries = [Entry("knowledge", f"k{n}", "It is so.", source=f"f{n}.py:1") for n in range(35)]
    bank = MemoryBank("", entries)
    for mark in files.marks(bank.entries.values()):
        bank.apply(mark)
    assert len(files._known) <= 10
    assert files.marks(bank.entries.values()) == []
    (tmp_path / "f3.py").write_text("x = 0\n")
    [mark] = files.marks(bank.entries.values())
    assert (mark.id, mark.stale) == ("k3", "f3.py has changed")


def test_ids_that_were_cited_and_left_the_bank_are_not_kept(tmp_path: Path) -> None:
    bank = BankFile(find_project(tmp_path, os.environ), max_entries=10)
    for n in range(100):
        bank.apply([SaveKnowledge(f"k{n}", "so")])
        bank.cited.add(f"k{n}")
        assert len(bank.cited) <= 21 + 10
    assert bank.close()
    assert bank.cited & bank.bank.entries.keys() == bank.bank.entries.keys()


def test_sentences_for_the_user_are_not_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_file, "MAX_NOTES", 5)
    bank = BankFile(find_project(tmp_path, os.environ))
    bank.apply([SaveKnowledge("a", "x")])
    assert bank.flush()
    for n in range(20):
        bad = f'\n[[knowledge]]\nid = "bad{n}"\ncontent = {n}\n'
        bank.project.bank.write_text(bank.project.bank.read_text() + bad)
        bank.refresh()
    assert len(bank.notes) == 5
    assert bank.close() and "bad19" in bank.project.bank.read_text()


def test_of_what_people_wrote_the_latest_is_vouched_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is older counts as the agent's only if it changes while an agent is at work."""
    monkeypatch.setattr(authors, "MAX_NOTES", 10)
    bank = BankFile(find_project(tmp_path, os.environ))
    for n in range(35):
        bank.apply([SaveKnowledge(f"k{n}", "By hand.", source="user")])
        assert bank.flush()
    assert len(authors._notes(bank.project.state)) == 10
    other = BankFile(bank.project)
    other.at_work = lambda: "agent"
    bank.apply([SaveKnowledge("last", "By hand.", source="user")])
    assert bank.flush() and other.refresh()
    assert {entry.source for entry in other.bank.entries.values()} == {"user"}


def test_after_two_thousand_commands_every_store_of_the_ring_is_within_its_bound() -> None:
    session = ring(Rules(), Kept())
    for n in range(2000):
        session.handle(ran(f"make t{n}", f"line {n}\n", (n % 7 == 3 and 2) or 0), HOOK)
    lane = session.lanes[None]
    assert len(lane.history.facts) <= MAX_FACTS and len(lane.history._by_command) <= MAX_COMMANDS
    assert len(lane.trajectory.recent) <= 256
    assert len(lane.said._causes) <= 512 and len(lane.held) <= 512
    assert len(lane.given) <= 8 and len(session.hands._under_way) <= 256
