"""What a program leaves switched on is known, whatever the chunks."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pmem.terminal.modes import Modes

LEFT_ON = b"\x1b[?1049h\x1b[?2004;1006h\x1b[?25l\x1b[>1u"


def test_nothing_on_means_nothing_to_switch_off() -> None:
    modes = Modes()
    modes.feed(b"plain \x1b[1mbold\x1b[0m \x1b[?1049h screen \x1b[?1049l \x1b[?25l\x1b[?25h")
    assert modes.switch_off() == b""


def test_what_was_left_on_is_switched_off_once() -> None:
    modes = Modes()
    modes.feed(LEFT_ON)
    assert modes.full_screen
    assert modes.switch_off() == (b"\x1b[<u\x1b[?1006l\x1b[?1049l\x1b[?2004l\x1b[?25h")
    assert modes.switch_off() == b""
    assert not modes.full_screen


@given(st.lists(st.integers(0, len(LEFT_ON)), max_size=6).map(sorted))
def test_the_same_is_seen_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    whole, cut = Modes(), Modes()
    whole.feed(LEFT_ON)
    edges = [0, *cuts, len(LEFT_ON)]
    for a, b in pairwise(edges):
        cut.feed(LEFT_ON[a:b])
    assert cut.switch_off() == whole.switch_off()
