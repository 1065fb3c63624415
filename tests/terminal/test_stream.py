"""The stream is held where a banner belongs, briefly, and loses nothing."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.terminal.link import Link, pair
from pmem.terminal.stream import MAX_HELD, PATIENCE, ShellStream

NONCE = "0123456789abcdef"


def mark(*fields: str) -> bytes:
    return f"\x1b]6973;{NONCE};77;{';'.join(fields)}\x07".encode()


ENTER = mark("C", "1", "/dir", "make")
END = mark("D", "2", "/dir", "2")
PROMPT = mark("A")


class Talk:
    """A stream and the session's end of its link."""

    def __init__(self) -> None:
        ours, self.session = pair()
        self.stream = ShellStream(ours, NONCE, lambda banner: f"<{banner['text']}>\r\n".encode())
        self.stream.feed(mark("I", ""))
        self.link: Link = ours

    def shown(self) -> bytes:
        return self.stream.take()

    def answer(self, n: int, text: str | None = None) -> None:
        banner = None if text is None else {"text": text, "held": False}
        self.stream.receive({"type": "answer", "n": n, "banner": banner})

    def wait_over(self) -> None:
        deadline = self.stream.deadline
        assert deadline is not None
        assert deadline - time.monotonic() <= 0.15
        time.sleep(max(0.0, deadline - time.monotonic()) + 0.001)


@pytest.fixture
def talk() -> Iterator[Talk]:
    talk = Talk()
    yield talk
    talk.link.close()
    talk.session.close()


def test_without_marks_the_stream_passes_at_once(talk: Talk) -> None:
    talk.stream.feed(b"abc \x1b]133;A\x07")
    assert talk.shown() == b"abc \x1b]133;A\x07"
    assert talk.stream.deadline is None


def test_the_output_waits_for_the_answer_to_the_command(talk: Talk) -> None:
    talk.stream.feed(b"$ make\r\n" + ENTER + b"building\r\n")
    assert talk.shown() == b"$ make\r\n"
    assert talk.session.receive()[0]["command"] == "make"
    assert talk.shown() == b""
    talk.answer(1)
    assert talk.shown() == b"building\r\n"
    assert talk.stream.deadline is None


def test_a_banner_goes_before_the_output_and_above_the_prompt(talk: Talk) -> None:
    talk.stream.feed(b"$ make\r\n" + ENTER + b"failed" + END + PROMPT + b"$ ")
    talk.answer(1, "before")
    assert talk.shown() == b"$ make\r\n<before>\r\nfailed"
    talk.answer(2, "after")
    assert talk.shown() == b"\r\n<after>\r\n$ "


def test_no_answer_in_time_lets_the_stream_go_on(talk: Talk) -> None:
    talk.stream.feed(ENTER + b"out")
    assert talk.shown() == b""
    talk.wait_over()
    assert talk.shown() == b"out"


def test_a_late_banner_waits_for_the_next_prompt(talk: Talk) -> None:
    talk.stream.feed(ENTER + b"out")
    talk.wait_over()
    assert talk.shown() == b"out"
    talk.answer(1, "late")
    talk.stream.feed(b"more\r\n")
    assert talk.shown() == b"more\r\n"
    talk.stream.feed(END + PROMPT + b"$ ")
    talk.answer(2)
    assert talk.shown() == b"<late>\r\n$ "


def test_an_answer_between_the_end_and_the_prompt_is_shown_at_the_prompt(talk: Talk) -> None:
    talk.stream.feed(ENTER + b"out\r\n" + END)
    talk.answer(1)
    talk.answer(2, "early")
    talk.stream.feed(PROMPT + b"$ ")
    assert talk.shown() == b"out\r\n<early>\r\n$ "


@pytest.mark.parametrize(
    ("tail", "breaks"),
    [
        (b"text\r\n", False),
        (b"text\r\n\x1b[0m\x1b[K", False),
        (b"text\r\n\x1b]0;title\x07", False),
        (b"text\r\n\x1b[30m\x1b[m\x0f", False),
        (b"text\x1b[m\x0f", True),
        (b"text", True),
        (b"\r\n\x1b[31mtext\x1b[0m", True),
        (b"progress\r", False),
        (b"", False),
    ],
)
def test_a_banner_always_starts_a_line(talk: Talk, tail: bytes, breaks: bool) -> None:
    talk.stream.feed(ENTER + tail + END + PROMPT)
    talk.answer(1)
    talk.answer(2, "said")
    lead = b"\r\n" if breaks else b""
    assert talk.shown() == tail + lead + b"<said>\r\n"


def test_nothing_is_painted_into_a_full_screen_program(talk: Talk) -> None:
    talk.stream.feed(ENTER + b"\x1b[?1049hmenu" + END + PROMPT)
    talk.answer(1)
    talk.answer(2, "later")
    assert talk.shown() == b"\x1b[?1049hmenu"
    talk.stream.feed(b"\x1b[?1049l" + PROMPT + b"$ ")
    assert talk.shown() == b"\x1b[?1049l\r\n<later>\r\n$ "


def test_a_session_that_is_always_late_is_not_waited_for_until_it_is_quick_again(
    talk: Talk,
) -> None:
    for _ in range(PATIENCE):
        talk.stream.feed(ENTER + b"x")
        talk.wait_over()
        assert talk.shown() == b"x"
        talk.stream.feed(END)
    talk.stream.feed(ENTER + b"y")
    assert talk.shown() == b"y"
    talk.answer(2 * PATIENCE + 1)
    talk.stream.feed(END + ENTER + b"z")
    assert talk.shown() == b""
    talk.answer(2 * PATIENCE + 3)
    assert talk.shown() == b"z"


def test_a_dead_session_holds_nothing(talk: Talk) -> None:
    talk.session.close()
    talk.link.receive()
    talk.stream.feed(ENTER + b"out" + END + PROMPT + b"$ ")
    assert talk.shown() == b"out$ "


def test_a_session_that_dies_in_mid_hold_holds_nothing_longer(talk: Talk) -> None:
    talk.stream.feed(ENTER + b"out")
    assert talk.shown() == b""
    talk.session.close()
    talk.link.receive()
    assert talk.shown() == b"out"


def test_much_held_output_asks_for_a_pause(talk: Talk) -> None:
    talk.stream.feed(ENTER)
    assert not talk.stream.full
    talk.stream.feed(b"x" * (MAX_HELD + 1))
    assert talk.stream.full
    talk.answer(1)
    assert len(talk.shown()) == MAX_HELD + 1
    assert not talk.stream.full


def test_marks_of_another_shell_tell_nothing(talk: Talk) -> None:
    other = ENTER.replace(b";77;", b";78;")
    talk.stream.feed(b"a" + other + b"b")
    assert talk.shown() == b"ab"
    assert talk.session.receive() == []


def test_a_lost_end_is_an_unknown_exit(talk: Talk) -> None:
    talk.stream.feed(ENTER + b"one" + ENTER + b"two" + END)
    kinds = [(m["type"], m.get("exit_code", "-")) for m in talk.session.receive()]
    assert kinds == [("entered", "-"), ("finished", None), ("entered", "-"), ("finished", 2)]


chunk = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([ENTER, END, PROMPT, mark("P", "2", "/"), b"\x1b[?1049h", b"\x1b[?1049l"]),
)


@given(st.lists(st.one_of(chunk, st.integers(1, 30)), max_size=25), st.booleans())
def test_whatever_comes_every_byte_is_shown_in_order(
    steps: list[bytes | int], banners: bool
) -> None:
    talk = Talk()
    sent = shown = b""
    for step in steps:
        if isinstance(step, int):
            talk.answer(step, "B" if banners else None)
        else:
            talk.stream.feed(step)
            sent += step
        shown += talk.shown()
    talk.stream.finish()
    shown += talk.shown()
    talk.link.close()
    talk.session.close()
    for taken in (ENTER, END, PROMPT, mark("P", "2", "/")):
        sent = sent.replace(taken, b"")
    plain = re.sub(rb"(?:\r\n)?<B>\r\n", b"", shown) if banners else shown
    assert talk.stream.deadline is None
    forged = b"\x1b]6973;" in sent  # by chance: a mark that says nothing
    if not forged and not (banners and (b"\r\n" in sent or b"<B>" in sent)):
        assert plain == sent


def test_two_prompts_in_a_row_wait_together_and_show_one_banner(talk: Talk) -> None:
    talk.stream.feed(ENTER + b"out\r\n" + END + PROMPT + b"$ " + PROMPT + b"$ ")
    talk.answer(1)
    talk.answer(2, "once")
    assert talk.shown() == b"out\r\n<once>\r\n$ $ "
    assert talk.stream.deadline is None


HELD = {"text": "said so", "held": True, "citations": []}


def gated(talk: Talk, short_dir: Path) -> int:
    """The shell says where it waits; what it is told can be read there."""
    gate = short_dir / "gate"
    os.mkfifo(gate)
    reader = os.open(gate, os.O_RDONLY | os.O_NONBLOCK)
    talk.stream.feed(mark("I", str(gate)))
    return reader


def told(talk: Talk) -> list[bool]:
    """What the session hears of its holds."""
    return [m["held"] for m in talk.session.receive() if m["type"] == "held"]


def at_gate(reader: int) -> list[bytes]:
    try:
        return os.read(reader, 1000).splitlines()
    except BlockingIOError:
        return []


def say(talk: Talk, n: int, banner: Mapping[str, Any] | None, **more: Any) -> None:
    talk.stream.receive({"type": "answer", "n": n, "banner": banner, **more})


@pytest.mark.parametrize("keys", [b"\r", b"\x03"])
def test_a_command_that_was_held_is_told_as_held(talk: Talk, short_dir: Path, keys: bytes) -> None:
    reader = gated(talk, short_dir)
    talk.stream.feed(ENTER)
    assert at_gate(reader) == [b"1 hold"]  # what is forbidden may be behind it
    say(talk, 1, HELD)
    assert b"said so" in talk.shown()
    talk.stream.shown()
    assert talk.stream.question is not None
    assert told(talk) == []
    talk.stream.typed(keys)
    assert told(talk) == [True]
    assert at_gate(reader)[1:] == ([b"1 run"] if keys == b"\r" else [])
    os.close(reader)


def test_a_shell_that_did_not_wait_is_believed(talk: Talk, short_dir: Path) -> None:
    reader = gated(talk, short_dir)
    for n, seen_before in ((1, False), (2, True)):
        talk.stream.feed(mark("C", str(n), "/dir", "make"))
        gone = mark("R", str(n))
        if not seen_before:
            talk.stream.feed(gone)
        say(talk, 2 * n - 1, HELD)
        talk.shown()
        talk.stream.shown()
        if seen_before:
            assert talk.stream.question is not None
            talk.stream.feed(gone)
        assert talk.stream.question is None
        assert told(talk) == [False]
        talk.stream.feed(END)
        say(talk, 2 * n, None)
    os.close(reader)


def test_an_answer_that_came_too_late_held_nothing(talk: Talk, short_dir: Path) -> None:
    reader = gated(talk, short_dir)
    say(talk, 0, None)
    talk.stream.feed(ENTER)
    while talk.stream.deadline is not None:
        time.sleep(0.05)
        talk.shown()
    assert at_gate(reader)[-1] == b"1 run"
    say(talk, 1, HELD)
    assert told(talk) == [False]
    talk.stream.feed(END + PROMPT)
    say(talk, 2, None)
    assert b"said so" in talk.shown()
    assert talk.stream.question is None
    os.close(reader)


def test_where_nothing_is_forbidden_a_shell_waits_no_longer_than_by_itself(
    talk: Talk, short_dir: Path
) -> None:
    reader = gated(talk, short_dir)
    talk.stream.feed(ENTER)
    say(talk, 1, None, prohibits=False)
    talk.stream.feed(END)
    say(talk, 2, None, prohibits=False)
    at_gate(reader)
    talk.stream.feed(mark("C", "2", "/dir", "make"))
    assert at_gate(reader) == []
    os.close(reader)


def test_a_command_is_not_held_behind_a_full_screen(talk: Talk, short_dir: Path) -> None:
    reader = gated(talk, short_dir)
    talk.stream.feed(b"\x1b[?1049h" + ENTER)
    say(talk, 1, HELD)
    assert b"said so" not in talk.shown()
    talk.stream.shown()
    assert talk.stream.question is None
    assert at_gate(reader)[-1] == b"1 run"
    assert told(talk) == [False]
    os.close(reader)
