"""The scripted agent's own parts."""

from __future__ import annotations

import io

import pytest

from pmem.demo.agent import demo_speed, other_way
from pmem.demo.screen import Screen


@pytest.mark.parametrize(
    ("reminder", "way"),
    [
        ("`make` failed at steps 1, 2. `make CC=gcc` passed at step 4.", "make CC=gcc"),
        ("`CC=gcc make` passed; `make` did not.", "CC=gcc make"),
        ("`make` failed at steps 1, 2.", None),
        ("`make` failed; `ls` passed.", None),
        ("", None),
    ],
)
def test_the_other_way_is_the_command_a_reminder_names_beside_the_failed_one(
    reminder: str, way: str | None
) -> None:
    assert other_way(reminder, "make") == way


@pytest.mark.parametrize(
    ("said", "speed"), [("2", 2.0), ("0", 0.0), ("fast", 1.0), ("-1", 1.0), ("nan", 1.0)]
)
def test_the_speed_is_what_was_said_if_it_is_one(said: str, speed: float) -> None:
    assert demo_speed({"PMEM_DEMO_SPEED": said}) == speed


def test_the_screen_waits_as_long_as_the_speed_says() -> None:
    waited: list[float] = []
    Screen(io.StringIO(), {}, 2.0, waited.append).pause(3.0)
    Screen(io.StringIO(), {}, 0.0, waited.append).pause(3.0)
    assert waited == [1.5]


def test_output_keeps_its_indent_and_a_mark_its_column() -> None:
    out = io.StringIO()
    screen = Screen(out, {"NO_COLOR": "1"}, 0.0)
    screen.columns = 20
    screen.output("a\n    b\n\n")
    screen.typed("one two three four five", "> ")
    assert out.getvalue().split("\n") == [
        "  │ a",
        "  │     b",
        "> one two three four",
        "  five",
        "",
    ]
