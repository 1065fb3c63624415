"""`pmem train grpo` before any training: what it finds in a directory, what simple policies earn
there, and what is told where it cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import scripted_runs
from worked import FOLLOWED, IGNORED, session

from pmem.training.grounds import gather

Call = Callable[..., Any]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return scripted_runs.write(tmp_path / "runs")


def test_a_check_tells_what_policies_earn_and_trains_nothing(pmem: Call, runs: Path) -> None:
    done = pmem("train", "grpo", "--data", str(runs), "--check", "--json")
    assert done.code == 0, done.err
    earned = json.loads(done.out)
    assert earned["played"]["a played model"]["mean"] > earned["played"]["always silent"]["mean"]
    assert earned["all"]["always speaking"]["mean"] < -0.5
    shown = pmem("train", "grpo", "--data", str(runs), "--check")
    assert "always silent" in shown.out and "weigh otherwise" not in shown.err


def test_weights_under_which_silence_wins_are_told(pmem: Call, runs: Path, tmp_path: Path) -> None:
    own = tmp_path / "weights.toml"
    own.write_text("[weights]\nagreement = 0\n")
    done = pmem("train", "grpo", "--data", str(runs), "--check", "--rewards", str(own))
    assert done.code == 0 and "always silent earns as much as" in done.err


def test_sessions_are_judged_by_what_came_of_them(pmem: Call, tmp_path: Path) -> None:
    session(tmp_path / "in", "20260101-000000-claude", FOLLOWED)
    session(
        tmp_path / "in",
        "20260102-000000-claude",
        IGNORED,
        replies=[{"text": "<no_intervention/>", "times": 0}],
    )
    pivots = {turn.id: turn for turn in gather(tmp_path / "in").pivots}
    followed = [turn for id, turn in pivots.items() if "20260101" in id and turn.wanted]
    assert [turn.before_step for turn in followed] == [4] and "libdb-dev" in followed[0].about
    missed = [turn for id, turn in pivots.items() if "20260102" in id and turn.wanted]
    assert missed and "db.h" in missed[0].about
    done = pmem("train", "grpo", "--data", str(tmp_path / "in"), "--check", "--json")
    assert done.code == 0 and "all" in json.loads(done.out)


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (["--data", "none", "--check"], 2, "holds no labelled runs"),
        (["--data", "runs"], 2, "needs --model and -o"),
        (["--data", "runs", "--check", "--rewards", "none.toml"], 2, "cannot read the weights"),
    ],
)
def test_what_cannot_be_used_is_told(
    pmem: Call, runs: Path, tmp_path: Path, args: list[str], code: int, why: str
) -> None:
    said = [str(tmp_path / arg) if arg in ("none", "runs", "none.toml") else arg for arg in args]
    done = pmem("train", "grpo", *said)
    assert done.code == code and why in done.err and "Traceback" not in done.err
