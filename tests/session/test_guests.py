"""An agent typed in a shell under pmem: a lane beside the shell's, on one bank and one history."""

from __future__ import annotations

import json
import selectors
import socket
import time
from dataclasses import replace

import pytest
from rings import BROKEN, BUILD, HOOK, SHELL, Kept, ran, ring, wants

from pmem.core.event import Ended, Event, Finished, Observed, Started, UserMessage
from pmem.core.moment import Changed
from pmem.memory.rules import Rules
from pmem.session.guests import ITS_OWN_SCREEN, as_guest
from pmem.session.server import HELLO, Server
from pmem.session.shell_intake import take
from pmem.terminal.link import pair

GUEST = "claude-7"
MESSAGE = b"pmem1 secret scripted\n" + json.dumps({"event": "user", "text": "hello"}).encode()


def of_guest(event: Event) -> Event:
    return as_guest(event, GUEST)


def test_what_failed_at_the_prompt_counts_for_the_agent() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    session.handle(ran(BUILD, BROKEN, 2), SHELL)
    session.guests.heard(GUEST, 0.0)
    session.handle(of_guest(UserMessage("build it")), HOOK)
    assert session.handle(of_guest(wants(BUILD)), HOOK).reminder is None  # it was asked to
    session.handle(of_guest(ran(BUILD, BROKEN, 2)), HOOK)
    session.handle(of_guest(ran("cat notes.txt", "hello\n")), HOOK)
    told = session.handle(of_guest(wants(BUILD)), HOOK)
    assert told.reminder is not None and told.hold
    assert "steps 1 and 3" in told.reminder.text
    assert [(s.number, s.agent_id) for s in kept.steps if s.action == BUILD] == [
        (1, None),
        (3, GUEST),
    ]
    assert kept.bank.procedural[0].attempts == 2


def test_the_task_of_a_guest_and_of_its_subagents_is_no_others() -> None:
    kept = Kept()
    session = ring(Rules(), kept, changed_since=lambda since: Changed.NO)
    session.guests.heard(GUEST, 0.0)
    session.handle(of_guest(UserMessage("Never run make deploy.")), HOOK)
    session.handle(of_guest(replace(UserMessage("look around"), agent_id="sub")), HOOK)
    assert session.task == ""
    assert session.lanes[GUEST].trajectory.task == "Never run make deploy."
    assert session.lanes[f"{GUEST}/sub"].trajectory.task == "Never run make deploy."
    assert session.lanes[f"{GUEST}/sub"].history is not session.lanes[GUEST].history


def test_an_agents_own_subagent_is_no_guest() -> None:
    session = ring(Rules(), Kept())
    session.guests.heard(GUEST, 0.0)
    session.handle(ran(BUILD, BROKEN, 2, agent_id="sub"), HOOK)
    assert not session.lanes["sub"].guest


@pytest.mark.parametrize("event", [Started("clear"), Finished("done"), Ended(), wants("ls")])
def test_every_event_can_be_a_guests(event: Event) -> None:
    assert getattr(as_guest(event, GUEST), "agent_id", GUEST) == GUEST


@pytest.mark.parametrize("heard, kind", [(99.0, "command"), (101.0, "tool"), (103.0, "command")])
def test_what_an_agent_painted_is_no_output_of_the_shell(heard: float, kind: str) -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    session.guests.heard(GUEST, heard)
    finished = {"type": "finished", "command": "claude", "cwd": "/p", "exit_code": 1}
    take(session, {**finished, "output": "painted", "started": 100.0, "seconds": 2.0})
    [step] = kept.steps
    assert (step.kind, step.observation) == (
        kind,
        "painted" if kind == "command" else ITS_OWN_SCREEN,
    )


@pytest.mark.parametrize(
    "sent, ends, stays, heard",
    [(MESSAGE, True, False, ["hello"]), (MESSAGE, False, True, []), (b"", False, False, [])],
)
def test_who_sent_something_while_the_session_was_busy_is_read_before_it_is_dropped(
    sent: bytes, ends: bool, stays: bool, heard: list[str]
) -> None:
    kept = Kept()
    link, _ = pair()
    server = Server(ring(Rules(), kept), kept, socket.socket(), link, "secret", print)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    server.selector.register(theirs, selectors.EVENT_READ)
    server.clients[theirs] = (bytearray(), 0.0)  # its time was up long ago
    ours.sendall(sent)
    if ends:
        ours.shutdown(socket.SHUT_WR)
    server._drop_slow_clients()
    assert (theirs in server.clients) is stays
    assert [step.observation for step in kept.steps] == heard
    ours.close()
    theirs.close()


def test_a_guest_is_known_by_the_token_it_carries() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    link, _ = pair()
    complaints: list[str] = []
    server = Server(session, kept, socket.socket(), link, "secret", complaints.append)
    before = time.time()
    assert server.reply(b"pmem1 secret hello\n") == HELLO
    assert server.reply(b"pmem1 secret@claude-7 hello\n") == HELLO
    assert server.reply(b"pmem1 wrong@claude-7 hello\n") == b""
    for token in ("secret@claude-7", "secret@claude-8", "secret"):
        step = {"event": "user", "text": token}
        server.reply(f"pmem1 {token} scripted\n".encode() + json.dumps(step).encode())
    assert [s.agent_id for s in kept.steps] == ["claude-7", "claude-8", None]
    took = {"type": "finished", "command": "claude", "cwd": "/p", "exit_code": 0, "output": "x"}
    take(session, {**took, "started": before, "seconds": 60.0})
    assert kept.steps[-1].observation == ITS_OWN_SCREEN
    assert complaints == []
    assert isinstance(ran("x"), Observed)
