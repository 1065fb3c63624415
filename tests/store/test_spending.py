"""What models cost in a day, and the yes without which none is asked."""

from __future__ import annotations

import os
from pathlib import Path

from pmem.store.consent import consent, consented, refuse
from pmem.store.project import Project, find_project
from pmem.store.spending import Spending

NOON = 1_764_504_000.0
MODEL = "anthropic:claude-sonnet-4-5"


def project(tmp_path: Path) -> Project:
    place = tmp_path / "shop"
    (place / ".git").mkdir(parents=True, exist_ok=True)
    return find_project(place, os.environ)


def test_a_day_is_added_up_over_sessions(tmp_path: Path) -> None:
    one, other = Spending(tmp_path, lambda: NOON), Spending(tmp_path, lambda: NOON + 60)
    one.add(100, 0.25)
    other.add(50, 0.5)
    assert one.total() == other.total() == (150, 0.75)


def test_another_day_begins_at_nothing(tmp_path: Path) -> None:
    now = [NOON]
    spending = Spending(tmp_path, lambda: now[0])
    spending.add(100, 0.25)
    now[0] += 2 * 86_400
    assert spending.total() == (0, 0.0)
    spending.add(1, 0.5)
    assert spending.total() == (1, 0.5)


def test_a_clock_that_jumps_loses_nothing(tmp_path: Path) -> None:
    now = [NOON]
    spending = Spending(tmp_path, lambda: now[0])
    spending.add(100, 0.25)
    now[0] -= 10 * 86_400
    spending.add(7, 0.0)
    now[0] = NOON
    assert spending.total() == (100, 0.25)


def test_where_nothing_can_be_written_the_session_still_counts_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    spending = Spending(tmp_path / "file", lambda: NOON)
    spending.add(5, 0.5)
    assert spending.total() == (5, 0.5)


def test_torn_lines_are_skipped(tmp_path: Path) -> None:
    spending = Spending(tmp_path, lambda: NOON)
    spending.add(5, 0.5)
    [file] = (tmp_path / "spending").iterdir()
    file.write_text(file.read_text() + '{"tokens": 9, "mon\n[]\n{"tokens": "many"}\n')
    assert Spending(tmp_path, lambda: NOON).total() == (5, 0.5)
    assert file.stat().st_mode & 0o077 == 0


def test_a_model_is_asked_only_after_a_yes_to_it_at_its_endpoint(tmp_path: Path) -> None:
    here = project(tmp_path)
    assert not consented(here, MODEL)
    consent(here, MODEL)
    assert consented(here, MODEL)
    assert not consented(here, MODEL, "https://elsewhere.example")
    assert not consented(here, "openai:gpt-5")
    refuse(here)
    assert not consented(here, MODEL)


def test_the_yes_lies_in_the_user_s_state_and_not_in_the_project(tmp_path: Path) -> None:
    here = project(tmp_path)
    consent(here, MODEL)
    assert not here.dir.exists()
    assert (here.state / "consent").read_text() == f"{MODEL}\n"


def test_a_script_leaves_nothing_and_needs_no_yes(tmp_path: Path) -> None:
    assert consented(project(tmp_path), "scripted:play.json")
