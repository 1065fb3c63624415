"""No simple way to a reward pays more than being of use: the real rewards over policies that are
really played, on the recorded runs and on scripted ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import scripted_runs

from pmem.evaluation.dataset import load_dataset
from pmem.training.pivots import pivots, policies_over
from pmem.training.policies import SIMPLE, Earned, check
from pmem.training.rewards import load_weights
from pmem.training.turns import turns_of

CHECKOUT = Path(__file__).parents[2]
SHARED = CHECKOUT.parent / "shared" / "trajectories"


def checked(folder: Path, weights: Mapping[str, float] | None = None) -> dict[str, list[Earned]]:
    runs = load_dataset(folder)
    turns = [turn for run in runs for turn in turns_of(run, folder)]
    found = pivots(turns, policies_over(runs, folder))
    return check(found, {run.id: run for run in runs}, folder, weights or load_weights())


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scripted_runs.write(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[Earned]]:
    if not SHARED.is_dir():
        pytest.skip("the recorded runs are not beside this checkout")
    return checked(SHARED)


def honest_over_simple(rows: list[Earned]) -> None:
    assert {row.policy for row in rows if not row.honest} == set(SIMPLE)
    best = max((row for row in rows if not row.honest), key=lambda row: row.mean)
    for row in rows:
        if row.honest:
            assert row.mean > best.mean, f"{best.policy} earns {best.mean}, {row.policy} {row.mean}"


def test_on_scripted_runs_an_honest_model_earns_most(scripted: Path) -> None:
    earned = checked(scripted)
    honest_over_simple(earned["all"])
    # the rules speak in none of the runs that the model was played over
    honest_over_simple([row for row in earned["played"] if row.policy != "the rules"])


def test_on_recorded_runs_honest_policies_earn_most(recorded: dict[str, list[Earned]]) -> None:
    assert recorded["all"][0].turns > 300 and recorded["played"][0].turns > 50
    for rows in recorded.values():
        honest_over_simple(rows)


def test_weights_under_which_a_simple_policy_wins_are_seen(scripted: Path) -> None:
    """The check is worth something: with what is earned taken out, silence does win."""
    weights = {**load_weights(), "agreement": 0.0, "outcome": 0.0}
    means = {row.policy: row.mean for row in checked(scripted, weights)["all"]}
    assert means["always silent"] == 0 > means["the labels"]


def test_the_page_tells_what_is_measured(recorded: dict[str, list[Earned]]) -> None:
    page = (CHECKOUT / "docs" / "training.md").read_text("utf-8")
    for column, rows in enumerate(recorded.values()):
        for row in rows:
            line = re.search(rf"^\| {re.escape(row.policy)} \|(.*)\|$", page, re.MULTILINE)
            assert line is not None, row.policy
            told = float(line[1].split("|")[column])
            assert told == pytest.approx(row.mean, abs=0.05), row.policy
