"""A step keeps the head and the tail of an output, readable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pmem.terminal.capture import FULL_SCREEN, Capture


def captured(*chunks: bytes, head: int = 8 << 10, tail: int = 24 << 10) -> str:
    capture = Capture(head, tail)
    for chunk in chunks:
        capture.feed(chunk)
    return capture.text()


def test_a_short_output_is_kept_whole_and_clean() -> None:
    assert captured(b"\x1b[31mred\x1b[0m\r\n", b"done\r\n") == "red\ndone\n"


def test_a_long_output_keeps_head_and_tail_and_says_what_is_missing() -> None:
    text = captured(b"a" * 50, b"b" * 1000, b"c" * 50, head=50, tail=50)
    assert text == "a" * 50 + "\n[… 1000 bytes of output left out …]\n" + "c" * 50


@given(st.lists(st.binary(max_size=200), max_size=30))
def test_head_and_tail_are_the_same_for_any_chunks(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert captured(*chunks, head=100, tail=200) == captured(whole, head=100, tail=200)


def test_memory_stays_bounded() -> None:
    capture = Capture(100, 100)
    for _ in range(10_000):
        capture.feed(b"0123456789" * 5)
    assert len(capture._head) + len(capture._tail) <= 400
    assert "499800 bytes" in capture.text()


def test_a_full_screen_program_leaves_a_note_in_place_of_its_screen() -> None:
    text = captured(b"before\r\n\x1b[?1049h\x1b[2Jmenu\x1b[5;5Hitem\x1b[?1049lafter\r\n")
    assert text == f"before\n\n{FULL_SCREEN}\nafter\n"


def test_a_screen_whose_start_was_left_out_is_a_note_too() -> None:
    screen = b"\x1b[?1049h" + b"\x1b[1;1Hxxxxx" * 100 + b"\x1b[?1049l"
    assert "xxxxx" not in captured(screen + b"bye", head=20, tail=60)
    assert captured(b"\x1b[?1049h" + b"x" * 500).count(FULL_SCREEN) == 1


def test_the_end_mark_that_zsh_paints_is_not_output() -> None:
    fill = b"\x1b[1m\x1b[7m%\x1b[27m\x1b[1m\x1b[0m" + b" " * 79 + b"\r \r"
    assert captured(b"hello\r\n" + fill) == "hello\n"
    assert captured(b"no newline" + fill) == "no newline"


def test_bytes_that_are_no_utf8_do_no_harm() -> None:
    assert captured(b"caf\xe9 \xff\xfe ok") == "caf� �� ok"
