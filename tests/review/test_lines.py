"""Lines as the browser paints them: every part of it must agree how wide a character is."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from pmem.review.lines import fitted, flat, plain, width, wrapped

FAMILY = "👩\u200d👩\u200d👧"


@given(st.text())
@example(f"echo '{FAMILY}' done")
@example("❤\ufe0f 👍🏽 1\ufe0f\u20e3 🇰🇷")
@example("क्\u200dष a\u00adb")
@example("0\u093e हिन्दी में")  # a vowel sign that takes a cell with its letter, and none alone
def test_no_character_has_another_width_where_it_stands(text: str) -> None:
    for line in plain(text).split("\n"):
        assert width(line) == sum(get_cwidth(character) for character in line)
        for room in (1, 7, 20):
            painted = "".join(part for _, part in fitted([("", line), ("", "…")], room))
            assert sum(map(get_cwidth, painted)) == room


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        (f"a{FAMILY}b", "a👩👩👧b"),
        ("🇰🇷 한국", "KR 한국"),
        ("\u1112\u1161\u11ab글", "한글"),
        ("e\u0301", "é"),
        ("rm \u202etxt.exe", "rm txt.exe"),
        ("a\u2028b", "a b"),
        ("x\ud800y", "xy"),
        ("tab\there", "tab here"),
        ("plain\x1b[31m red", "plain red"),
    ],
)
def test_what_is_shown_of_it(given_text: str, shown: str) -> None:
    assert flat(given_text) == shown


def test_what_a_step_printed_keeps_its_blanks() -> None:
    printed = "name      size\n    raise KeyError(key)"
    assert ["".join(text for _, text in line) for line in wrapped(printed, 40)] == [
        "name      size",
        "    raise KeyError(key)",
    ]
