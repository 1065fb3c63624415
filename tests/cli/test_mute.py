"""`pmem mute` and `pmem wrong`: a person's wish holds now, and in later sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pmem.core.event import Answer, Observed, Proposed
from pmem.core.step import Action, Step
from pmem.session.assemble import assemble
from pmem.session.outside import Channel
from pmem.session.process import SessionConfig
from pmem.session.session import Session
from pmem.store.project import find_project
from pmem.store.settings import Settings

HOOK = Channel("hook:test", can_hold=True)
BUILD = "make build"
BROKEN = "main.c:3: fatal error: db.h: No such file or directory\nmake: *** [build] Error 1\n"

Open = Callable[[], Session]


@pytest.fixture
def session(project: Path, home: Path) -> Iterator[Open]:
    """Opens a session on the project's files; each new one comes after the last."""
    opened: list[Callable[[], None]] = []

    def open_() -> Session:
        for close in opened:
            close()
        opened.clear()
        env = {"HOME": str(home)}
        config = SessionConfig(find_project(project, env), Settings(), "test", cwd=project)
        session, bank_file, log = assemble(config, env)

        def close() -> None:
            bank_file.close()
            log.close(bank_file.path)

        opened.append(close)
        return session

    yield open_
    for close in opened:
        close()


def third_failure(session: Session, project: Path) -> Answer:
    """Two builds that fail alike, something else, and the same build proposed again."""
    failed = Step(0, "command", BUILD, BROKEN, exit_code=2, cwd=str(project))
    for step in (failed, failed, Step(0, "command", "pwd", "/\n", exit_code=0, cwd=str(project))):
        session.handle(Observed(step), HOOK)
    return session.handle(Proposed(Action("command", BUILD, cwd=str(project))), HOOK)


def test_what_was_called_wrong_does_not_come_back_in_this_session_or_a_later_one(
    session: Open, project: Path, pmem: Callable
) -> None:
    first = session()
    told = third_failure(first, project)
    assert told.reminder is not None
    said = pmem("wrong")
    assert said.code == 0 and told.reminder.text in said.err
    assert third_failure(first, project).reminder is None
    assert third_failure(session(), project).reminder is None
    decisions = [json.loads(row) for row in pmem("log", "--decisions", "--json").out.splitlines()]
    silent = [d for d in decisions if d["decision"] == "silent" and "candidate" in d]
    assert {d["verdict"] for d in silent} == {"the user said that it is noise"}


def test_the_mark_stands_among_the_decisions_and_can_be_taken_back(
    session: Open, project: Path, pmem: Callable
) -> None:
    third_failure(session(), project)
    pmem("wrong")
    decisions = [json.loads(row) for row in pmem("log", "--decisions", "--json").out.splitlines()]
    assert [d["decision"] for d in decisions][-2:] == ["remind", "wrong"]
    assert decisions[-1]["cause"] == decisions[-2]["cause"]
    assert "it was noise" in pmem("log", "--decisions").out
    pmem("wrong", "--off")
    assert third_failure(session(), project).reminder is not None


def test_without_a_reminder_there_is_nothing_to_call_wrong(pmem: Callable) -> None:
    said = pmem("wrong")
    assert said.code == 1 and "nothing was said here yet" in said.err


def test_a_muted_entry_is_not_cited_until_it_is_heard_again(
    session: Open, project: Path, pmem: Callable
) -> None:
    told = third_failure(session(), project)
    assert told.reminder is not None
    (entry,) = told.reminder.entries
    session()  # the first one has ended, and its bank is written
    assert pmem("mute", entry[:4]).err.startswith(f"pmem: {entry} is silent")
    assert third_failure(session(), project).reminder is None
    pmem("mute", entry, "--off")
    assert third_failure(session(), project).reminder is not None


def test_a_muted_session_goes_on_recording_and_the_next_one_speaks(
    session: Open, project: Path, pmem: Callable
) -> None:
    running = session()
    said = pmem("mute")
    assert said.code == 0 and running.id in said.err
    assert third_failure(running, project).reminder is None
    assert running.tally.steps == 3
    assert third_failure(session(), project).reminder is not None


def test_with_nothing_running_there_is_nothing_to_mute(pmem: Callable) -> None:
    said = pmem("mute")
    assert said.code == 1 and "no session is running here" in said.err


def test_an_entry_nobody_knows_is_told(pmem: Callable) -> None:
    assert pmem("mute", "nothing-like-it").code == 1
