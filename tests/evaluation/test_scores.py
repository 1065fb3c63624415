"""The scores: by hand on a small run, and to the last digit with the scorer of a dataset."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from pmem.evaluation.dataset import Label, Run, load_dataset
from pmem.evaluation.scores import count, left_out, report, total

DEV_SET = Path(__file__).parents[2].parent / "shared" / "trajectories"
present = pytest.mark.skipif(not DEV_SET.exists(), reason="no dataset beside the checkout")


def small_run() -> Run:
    kinds = ["user", "command", "edit", "command", "user", "command", "message", "command"]
    lines = [
        {"step": n, "kind": kind, "action": "x", "observation": "y"}
        for n, kind in enumerate(kinds, start=1)
    ]
    label = Label(4, 3, 4, "repeat_failure", "high", True)
    low = Label(8, 8, 8, "loop", "low", False)
    return Run("small", "new", {}, lines, [label, low], [(5, 7)])


def test_a_reminder_anywhere_in_the_window_hits() -> None:
    counts = count(small_run(), [3])
    assert (counts.labels, counts.hits, counts.good, counts.bad) == (2, 1, 1, 0)
    assert counts.recall == 0.5 and counts.recall_high_medium == 1.0
    assert counts.leads == [1]


def test_before_a_message_of_the_user_it_counts_for_the_agents_next_step() -> None:
    counts = count(small_run(), [5])
    assert (counts.predictions, counts.false_alarms, counts.silent_steps) == (1, 1, 2)


def test_neither_in_a_window_nor_silent_is_neutral() -> None:
    counts = count(small_run(), [2, 2, 99])
    assert (counts.predictions, counts.neutral, counts.precision) == (1, 1, None)


def test_figures_of_silence() -> None:
    counts = count(small_run(), [])
    assert counts.silence_rate == 1.0 and counts.f1 == 0.0 and counts.lift is None


def test_the_range_with_one_run_left_out() -> None:
    counts = {"a": count(small_run(), [3, 8]), "b": count(small_run(), [])}
    assert total(counts.values()).recall == 0.5
    assert left_out(counts, "recall") == (0.0, 1.0)


@present
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
def test_they_agree_with_the_datasets_own_scorer_to_the_last_digit(
    tmp_path: Path, share: float
) -> None:
    chance = random.Random(7)
    runs = load_dataset(DEV_SET)
    said = {run.id: [line["step"] for line in run.lines if chance.random() < share] for run in runs}
    file = tmp_path / "predictions.jsonl"
    rows = [{"trajectory": id, "before_step": n} for id, steps in said.items() for n in steps]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    scorer = [sys.executable, str(DEV_SET / "score.py"), str(file)]
    theirs = json.loads(subprocess.run(scorer, capture_output=True, text=True, check=True).stdout)
    ours = report(total(count(run, said[run.id]) for run in runs))
    assert {key: ours[key] for key in theirs} == theirs
