"""The line between terminal and session never makes either of them wait."""

from __future__ import annotations

import socket
import time

import pytest

from pmem.terminal.link import MAX_MESSAGE, Link, pair


def test_messages_arrive_whole_and_in_order() -> None:
    one, other = pair()
    sent = [{"type": "t", "n": n, "text": "한글\n\x1b\udcff\ud800" * n} for n in range(50)]
    for message in sent:
        one.send(message)
    received = []
    while len(received) < len(sent):
        received += other.receive()
        one.flush()
    assert received == sent


def test_sending_to_a_peer_that_does_not_read_never_blocks_and_loses_nothing() -> None:
    one, other = pair()
    text = "x" * 100_000
    for n in range(40):
        assert one.send({"type": "t", "n": n, "text": text})
    assert one.wants_write
    numbers = []
    while len(numbers) < 40:
        numbers += [message["n"] for message in other.receive()]
        one.flush()
    assert numbers == list(range(40))
    assert not one.wants_write


def test_a_peer_that_stopped_reading_for_good_turns_the_link_off() -> None:
    one, other = pair()
    text = "x" * 1_000_000
    while one.send({"text": text}):
        pass
    assert one.dead
    assert one.lost == "it stopped reading"
    assert not one.wants_write
    assert not one.send({"text": "more"})
    assert other.alive


def test_a_peer_that_is_gone_turns_the_link_off_after_its_last_words() -> None:
    one, other = pair()
    other.send({"type": "summary", "steps": 3})
    other.close()
    one.send({"type": "late"})
    assert one.receive() == [{"type": "summary", "steps": 3}]
    one.send({"type": "late"})
    assert one.dead
    assert one.receive() == []
    assert one.fileno() == -1


def test_what_is_no_message_is_skipped() -> None:
    ours, theirs = socket.socketpair()
    link = Link(ours)
    theirs.sendall(b'nonsense\n{"type": "a"}\n[1]\n{"type": "b"}\n{"type": ')
    assert [m["type"] for m in link.receive()] == ["a", "b"]
    theirs.sendall(b'"c"}\n')
    assert [m["type"] for m in link.receive()] == ["c"]
    theirs.close()


def test_an_endless_line_turns_the_link_off() -> None:
    ours, theirs = socket.socketpair()
    link = Link(ours)
    theirs.settimeout(5)
    for _ in range(MAX_MESSAGE // 65536 + 2):
        if link.dead:
            break
        theirs.send(b"x" * 65536)
        link.receive()
    assert link.dead
    theirs.close()


def test_a_message_too_large_for_the_wire_is_refused_and_the_link_lives() -> None:
    one, other = pair()
    with pytest.raises(ValueError, match="too large"):
        one.send({"text": "x" * MAX_MESSAGE})
    one.send({"type": "small"})
    assert other.receive() == [{"type": "small"}]


def test_waiting_for_one_type_keeps_the_others() -> None:
    one, other = pair()
    other.send({"type": "answer", "n": 1})
    other.send({"type": "ready", "memory": "rules"})
    assert one.wait_ready(5) == {"type": "ready", "memory": "rules"}
    assert one.receive() == [{"type": "answer", "n": 1}]


def test_asking_for_the_end_gives_the_summary_or_none() -> None:
    one, other = pair()
    other.send({"type": "summary", "steps": 41})
    assert one.ask_end(7, timeout=5) == {"type": "summary", "steps": 41}
    assert other.receive() == [{"type": "end", "exit_code": 7}]
    started = time.monotonic()
    assert one.ask_end(7, timeout=0.05) is None
    assert time.monotonic() - started < 5
    other.close()
    assert one.ask_end(7, timeout=60) is None


def test_draining_sends_what_is_queued() -> None:
    one, other = pair()
    one.send({"text": "x" * 1_000_000})
    assert not one.drain(0.05)
    got = []
    while not got:
        one.drain(0.01)
        got = other.receive()
    assert len(got[0]["text"]) == 1_000_000
    assert one.drain(0)
