"""The trajectory keeps the newest steps whole, what the user said, and its size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pmem.core.step import Step
from pmem.core.trajectory import (
    FIRST_MESSAGES,
    LATEST_MESSAGES,
    MAX_MESSAGE,
    MAX_STEPS,
    MAX_TEXT,
    Trajectory,
    cut_middle,
)


def step(number: int, observation: str = "ok", kind: str = "command") -> Step:
    return Step(number, kind, "make", observation)


def numbers(steps: list[Step]) -> list[int]:
    return [s.number for s in steps]


def test_the_window_is_the_last_k_steps() -> None:
    trajectory = Trajectory("fix the build")
    for n in range(1, 12):
        trajectory.append(step(n))
    assert trajectory.task == "fix the build"
    assert numbers(trajectory.window(8)) == list(range(4, 12))
    assert numbers(trajectory.window(100)) == list(range(1, 12))
    assert trajectory.window(0) == []


def test_an_empty_trajectory_has_an_empty_window() -> None:
    assert Trajectory().window(8) == []
    assert Trajectory().recent == ()
    assert Trajectory().next_number == 1


def test_after_a_week_the_newest_steps_are_there_and_numbering_goes_on() -> None:
    trajectory = Trajectory()
    for n in range(1, 5001):
        trajectory.append(step(n))
    assert len(trajectory.recent) == MAX_STEPS
    assert trajectory.recent[-1].number == 5000
    assert trajectory.next_number == 5001


def test_numbering_goes_on_where_an_earlier_part_ended() -> None:
    trajectory = Trajectory(first=42)
    assert trajectory.next_number == 42
    trajectory.append(step(42))
    assert trajectory.next_number == 43


def test_a_long_observation_keeps_head_and_tail() -> None:
    trajectory = Trajectory()
    trajectory.append(step(1, "HEAD" + "x" * 1_000_000 + "TAIL"))
    kept = trajectory.recent[0].observation
    assert len(kept) <= MAX_TEXT
    assert kept.startswith("HEAD") and kept.endswith("TAIL")
    assert "1000008 characters" in kept


def test_a_long_action_and_thought_are_cut_too() -> None:
    trajectory = Trajectory()
    trajectory.append(Step(1, "edit", "Write a\n" + "y" * 10**6, "ok", thought="z" * 10**6))
    assert len(trajectory.recent[0].action) <= MAX_TEXT
    assert len(trajectory.recent[0].thought) <= MAX_TEXT


def test_what_the_user_said_is_kept_with_its_step() -> None:
    trajectory = Trajectory()
    trajectory.append(Step(1, "user", "", "use pnpm, never npm"))
    trajectory.append(step(2))
    trajectory.append(Step(3, "user", "now the tests", ""))
    assert trajectory.user_messages == [(1, "use pnpm, never npm"), (3, "now the tests")]


def test_of_a_thousand_messages_the_first_and_the_latest_are_kept() -> None:
    trajectory = Trajectory()
    for n in range(1, 1001):
        trajectory.append(Step(n, "user", "", f"message {n} " + "x" * 20_000))
    kept = trajectory.user_messages
    assert [n for n, _ in kept[:FIRST_MESSAGES]] == list(range(1, FIRST_MESSAGES + 1))
    assert kept[-1][0] == 1000
    assert len(kept) == FIRST_MESSAGES + LATEST_MESSAGES
    assert max(len(text) for _, text in kept) <= MAX_MESSAGE


@given(st.text(st.characters(), max_size=300), st.integers(-5, 200))
def test_cutting_keeps_the_limit_and_short_texts(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    assert len(cut) <= max(0, limit)
    assert cut == text or len(text) > limit
