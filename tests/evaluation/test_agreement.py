"""Our decisions beside recorded ones: what counts as agreement, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.evaluation.agreement import compare, load_decisions, pair
from pmem.evaluation.dataset import load_dataset

DEV_SET = Path(__file__).parents[2].parent / "shared" / "trajectories"
BROKEN = "Error: Cannot find module './db'\n"

STEPS = st.frozensets(st.integers(1, 30))


@given(STEPS, STEPS, STEPS)
def test_two_readers_agree_the_same_whoever_comes_first(
    a: frozenset[int], b: frozenset[int], points: frozenset[int]
) -> None:
    one, other = pair(a, b, points), pair(b, a, points)
    assert (one.agreement, one.kappa) == (other.agreement, other.kappa)
    if one.kappa is not None and one.agreement is not None:
        assert one.kappa <= one.agreement + 1e-9
    if points:
        assert pair(a, a, points).agreement == 1.0


def test_kappa_of_a_table_worked_by_hand() -> None:
    # 10 points; both speak at 2, the first alone at 1, the second alone at 3: agreement .6,
    # by chance .3 * .5 + .7 * .5 = .5, so kappa is .2
    found = pair({1, 2, 3}, {1, 2, 4, 5, 6}, range(1, 11))
    assert (found.agreement, found.kappa) == (0.6, 0.2)


def test_two_that_never_speak_agree_and_have_no_kappa() -> None:
    assert (pair((), (), {1, 2}).agreement, pair((), (), {1, 2}).kappa) == (1.0, None)


def write(path: Path, *rows: Any) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A run of six steps, of which the user makes the fourth; a label before step 6."""
    folder = tmp_path / "runs"
    (folder / "steps").mkdir(parents=True)
    (folder / "labels").mkdir()
    write(folder / "manifest.jsonl", {"id": "one", "set": "new", "n_steps": 6})
    test: dict[str, Any] = {
        "kind": "command",
        "action": "npm test",
        "observation": BROKEN,
        "exit_code": 1,
    }
    look = {"kind": "command", "action": "ls", "observation": "src", "exit_code": 0}
    user = {"kind": "user", "action": "", "observation": "go on", "exit_code": None}
    lines = [{**x, "step": n} for n, x in enumerate([test, look, test, user, look, test], start=1)]
    write(folder / "steps" / "one.jsonl", {"header": True, "id": "one", "task": "fix it"}, *lines)
    write(
        folder / "labels" / "labels.jsonl",
        {"trajectory": "one", "type": "intervene", "before_step": 6, "earliest": 6, "latest": 6,
         "reason": "repeat_failure", "confidence": "high"},
        {"trajectory": "one", "type": "silence", "from": 1, "to": 3},
    )  # fmt: skip
    return folder


def test_where_a_played_memory_was_not_called_it_was_silent(dataset: Path) -> None:
    say = {"text": "npm test failed twice alike."}
    write(
        dataset / "labels" / "played_decisions.jsonl",
        {"trajectory": "one", "after_step": 1, "answer": {}},
        {"trajectory": "one", "after_step": 3, "answer": {"say": say}},
        {"trajectory": "one", "watch_fired_before": 6, "entries": ["x"], "text": "…"},
    )
    runs = load_dataset(dataset)
    one = load_decisions(dataset, runs)["played"]["one"]
    assert one.points == {1, 2, 3, 5, 6}
    assert one.spoke == {5, 6}  # said before the user's step 4, read by the agent before step 5
    told = compare("us", runs, {"one": one}, {"one": [6]})
    assert (told["points"], told["agreement"], told["both_spoke"]) == (5, 0.8, 1)
    assert told["speaking_rate"] == {"recorded": 0.4, "us": 0.2}
    assert told["labels"]["us"]["agreement"] == told["labels"]["us"]["kappa"] == 1.0


@pytest.mark.skipif(not DEV_SET.exists(), reason="no dataset beside the checkout")
def test_the_recorded_agents_score_as_the_dataset_tells_of_them() -> None:
    runs = load_dataset(DEV_SET)
    recordings = load_decisions(DEV_SET, runs)
    silent: dict[str, list[int]] = {run.id: [] for run in runs}
    paper = compare("never", runs, recordings["paper"], silent)
    told = paper["labels"]["recorded"]
    assert (paper["runs"], paper["points"]) == (5, 80)
    assert (told["recall"], told["precision"]) == (0.875, 0.364)
    assert told["false_alarm_on_silent"] == 0.491
    played = compare("never", runs, recordings["played"], silent)
    told = played["labels"]["recorded"]
    assert (played["runs"], played["points"]) == (6, 367)
    assert [round(told[k], 2) for k in ("recall", "precision")] == [0.29, 0.57]
    assert told["false_alarm_on_silent"] == 0.009
