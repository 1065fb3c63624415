"""A notification by an escape sequence, only where the terminal is known to take it."""

from __future__ import annotations

import re
from itertools import pairwise

import pyte
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pmem.terminal.notify import notification, put_in, way


@pytest.mark.parametrize(
    ("env", "by"),
    [
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "9"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "9"),
        ({"TERM": "xterm-256color", "WT_SESSION": "x"}, "9"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "777"),
        ({"TERM": "xterm-kitty"}, "777"),
        ({"TERM": "xterm-ghostty"}, "777"),
        ({"TERM": "foot-direct"}, "777"),
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, ""),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/t,1,0", "LC_TERMINAL": "iTerm2"}, ""),
        ({"TERM": "screen", "STY": "1.x", "TERM_PROGRAM": "WezTerm"}, ""),
        ({}, ""),
    ],
)
def test_a_terminal_is_told_in_the_way_it_is_known_to_take(env: dict[str, str], by: str) -> None:
    assert way(env) == by
    assert bool(notification("x", env)) == bool(by)


def test_the_setting_decides_before_the_terminal() -> None:
    iterm, unknown = {"TERM_PROGRAM": "iTerm.app"}, {"TERM": "xterm-256color"}
    assert notification("x", iterm, "never") == b""
    assert notification("x", iterm, "777") == b"\x1b]777;notify;pmem;x\x07"
    assert notification("x", unknown, "9") == b"\x1b]9;pmem: x\x07"


def test_in_tmux_what_the_setting_asks_for_is_wrapped() -> None:
    env = {"TERM": "tmux-256color", "TMUX": "/tmp/t,1,0"}
    assert notification("x", env, "9") == b"\x1bPtmux;\x1b\x1b]9;pmem: x\x07\x1b\\"


def test_nothing_in_the_text_can_end_the_sequence_or_begin_another() -> None:
    said = notification("a\x07b\x1b\\c\nd;e\x9cf " + "wörter " * 99, {"TERM": "xterm-kitty"})
    assert said.startswith(b"\x1b]777;notify;pmem;")
    body = said.removeprefix(b"\x1b]777;notify;pmem;").removesuffix(b"\x07").decode()
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in body)
    assert ";" not in body
    assert len(body) <= 200


NOTICE = b"\x1b]9;pmem: x\x07"
#: What a program's output is made of: text, sequences, strings, characters of several bytes.
PIECES = st.sampled_from(
    [
        *("text ", "wörter 기억 ", "\r\n", "\x1b[1;31m", "\x1b[0m", "\x1b[2K", "\x1b[3;4H"),
        *("\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1b7", "\x1b8"),
        *(
            "\x1bPqabc\x1b\\",
            "\x1bPtmux;\x1b\x1b[31m\x1b\\",
            "\x1b[?2026h",
            "\x1b[?2026l",
            "\x1b(B",
        ),
    ]
)


@example(pieces=["\x1bPtmux;\x1b\x1b[31m\x1b\\"], cuts=[8])  # the quoting ESC ends a chunk
@given(st.lists(PIECES, max_size=30), st.lists(st.integers(1, 400), max_size=6))
def test_wherever_a_chunk_begins_the_notice_cuts_nothing(
    pieces: list[str], cuts: list[int]
) -> None:
    output = "".join(pieces).encode()
    ends = [0, *sorted({min(cut, len(output)) for cut in cuts}), len(output)]
    waiting, sent = NOTICE, b""
    for start, end in pairwise(ends):
        chunk = output[start:end]
        noticed = put_in(waiting, chunk) if waiting else None
        if noticed is not None:
            waiting = b""
        sent += chunk if noticed is None else noticed
    assert sent.replace(NOTICE, b"") == output
    before = sent.partition(NOTICE)[0]
    if before != sent:
        assert re.search(rb"\x1b\[[0-9;?]*[A-Za-z]$", before)
        assert not re.search(rb"\x1b\x1b\[[0-9;?]*[A-Za-z]$", before)
        assert shown(sent) == shown(output)


def shown(output: bytes) -> list[list[str]]:
    """The cells of the screen after this output (`display` breaks on half of a wide character)."""
    screen = pyte.Screen(80, 24)
    pyte.ByteStream(screen).feed(output)
    return [[screen.buffer[y][x].data for x in range(80)] for y in range(24)]
