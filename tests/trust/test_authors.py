"""What an agent's own step puts into bank.toml is the agent's, whatever it says of itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pmem.core.bank import PutEntry, SaveKnowledge
from pmem.core.entry import Entry
from pmem.core.event import Event, Finished, Observed, Proposed, UserMessage
from pmem.core.step import Action, Step
from pmem.memory.rules import Rules
from pmem.session.in_memory import LogInMemory
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session
from pmem.store.bank_file import BankFile
from pmem.store.bank_toml import loads
from pmem.store.project import Project, ensure, find_project

HOOK = Channel("hook:claude", can_hold=True)
SHELL = Channel("shell", can_hold=True)
MINE = """\
[[knowledge]]
id = "mine"
content = "Never deploy."
source = "user"
when = { command = "make deploy*" }
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    project = find_project(root, os.environ)
    ensure(project)
    return project


class Desk:
    """A session on a real bank file."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.file = BankFile(project)
        self.session = Session(
            Outside(self.file, LogInMemory(), Rules()),
            id="20300101-000000-t",
            project=str(project.root),
        )
        self.now = 2_000_000_000

    def tell(self, event: Event, channel: Channel = HOOK) -> bool:
        return self.session.handle(event, channel).hold

    def write(self, text: str) -> None:
        """As an editor, or `cat >`, writes the bank; each version has a time of its own."""
        self.project.bank.write_text(text)
        self.now += 10
        os.utime(self.project.bank, (self.now, self.now))

    def source(self, id: str = "mine") -> str:
        self.file.flush()
        entry = loads(self.project.bank.read_text()).get(id)
        assert entry is not None
        assert self.file.bank.entries[id].source == entry.source
        return entry.source


def ran(command: str) -> Observed:
    return Observed(Step(0, "command", command, "", exit_code=0))


def wants(command: str) -> Proposed:
    return Proposed(Action("command", command))


STEPS: dict[str, Callable[[Desk], None]] = {
    "between proposal and end": lambda d: (
        d.tell(wants("sh x.sh")), d.write(MINE), d.tell(ran("sh x.sh"))
    ),
    "by its editing tool": lambda d: (
        d.tell(Proposed(Action("edit", ".pmem/bank.toml"))),
        d.write(MINE),
        d.tell(Observed(Step(0, "edit", ".pmem/bank.toml", "ok"))),
    ),
    "where only the end is told": lambda d: (d.write(MINE), d.tell(ran("sh x.sh"))),
    "seen first by a flush": lambda d: (
        d.tell(wants("sh x.sh")),
        d.write(MINE),
        d.file.apply([SaveKnowledge("other", "x")]),
        d.file.flush(),
        d.tell(ran("sh x.sh")),
    ),
    "by a subagent": lambda d: (
        d.tell(Proposed(Action("command", "sh x.sh"), agent_id="sub")),
        d.write(MINE),
        d.tell(wants("ls")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", STEPS)
def test_an_agents_own_edit_is_the_agents(project: Project, how: str) -> None:
    desk = Desk(project)
    desk.tell(wants("ls"))
    desk.tell(ran("ls"))
    STEPS[how](desk)
    assert desk.source() == "agent"
    assert not desk.tell(wants("make deploy now"))


def test_an_entry_of_the_user_that_the_agent_rewrites_is_the_agents(project: Project) -> None:
    project.bank.write_text(MINE)
    desk = Desk(project)
    assert desk.source() == "user"
    desk.tell(wants("sh x.sh"))
    desk.write(MINE.replace("Never deploy.", "Always deploy."))
    desk.tell(ran("sh x.sh"))
    assert desk.source() == "agent"


def test_a_persons_edit_between_steps_is_the_users_and_holds(project: Project) -> None:
    desk = Desk(project)
    desk.tell(wants("ls"))
    desk.tell(ran("ls"))
    desk.write(MINE)
    desk.tell(UserMessage("go on"))
    assert desk.source() == "user"
    assert desk.tell(wants("make deploy now"))


def test_at_a_prompt_it_is_the_person_who_edits(project: Project) -> None:
    desk = Desk(project)
    desk.tell(wants("vim .pmem/bank.toml"), SHELL)
    desk.write(MINE)
    desk.tell(ran("vim .pmem/bank.toml"), SHELL)
    assert desk.source() == "user"


def test_what_a_turn_left_open_does_not_count_after_it(project: Project) -> None:
    desk = Desk(project)
    desk.tell(wants("make deploy"))  # refused, so its end is never told
    desk.tell(Finished())
    desk.write(MINE)
    desk.tell(UserMessage("go on"))
    assert desk.source() == "user"


def test_what_a_person_adds_through_pmem_meanwhile_is_the_users(project: Project) -> None:
    desk = Desk(project)
    desk.tell(wants("sleep 600"))
    other = BankFile(project)
    other.apply([PutEntry(Entry("knowledge", "mine", "Never deploy.", source="user"))])
    assert other.close()
    desk.tell(ran("sleep 600"))
    assert desk.source() == "user"


@pytest.mark.parametrize("command", ["pmem bank add 'Never deploy.'", "env -i /x/pmem bank edit"])
def test_what_it_adds_through_pmem_itself_is_not(project: Project, command: str) -> None:
    desk = Desk(project)
    desk.tell(wants(command))
    other = BankFile(project)
    other.apply([SaveKnowledge("mine", "Never deploy.", source="user")])
    assert other.close()
    desk.tell(ran(command))
    assert desk.source() == "agent"


def test_nor_what_a_script_of_its_own_adds_without_a_terminal(project: Project) -> None:
    desk = Desk(project)
    desk.tell(wants("sh helpful.sh"))
    done = subprocess.run(
        [sys.executable, "-m", "pmem", "bank", "add", "--id", "mine", "Never deploy."],
        cwd=project.root,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    desk.tell(ran("sh helpful.sh"))
    assert desk.source() == "agent"


def test_a_watch_of_the_agents_holds_under_no_setting(project: Project) -> None:
    desk = Desk(project)
    desk.session.voice.hold = "watch"
    watch = MINE.replace("make deploy", "git push").replace("Never deploy", "Not `git push`")
    desk.write(watch.replace('"user"', '"model"'))
    assert desk.tell(wants("git push origin main"))
    desk.tell(ran("git push origin main"))
    desk.tell(wants("sh x.sh"))
    desk.write(watch.replace('"mine"', '"again"').replace("Not", "No more"))
    desk.tell(ran("sh x.sh"))
    assert desk.source("again") == "agent"
    assert not desk.tell(wants("git push --all"))
