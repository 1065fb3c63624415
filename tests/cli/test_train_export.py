"""`pmem train export` from the command line: labels, secrets, the bar, what is told."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest
from worked import (
    FACT,
    FOLLOWED,
    REPLIES,
    SAID,
    TASK,
    answers,
    replayed,
    rows,
    session,
    step,
)

from pmem.models.scripted import ScriptedModel

Call = Callable[..., Any]
SHARED = Path(__file__).parents[2].parent / "shared" / "trajectories"
SECRET = "ghp_" + "Ab3dE5gH1jK2mN4pQ6rS8tU0vW7xY9zA1bC2"


def test_a_replay_is_judged_by_the_labels_or_not_at_all(pmem: Call, tmp_path: Path) -> None:
    dataset = labelled(tmp_path / "set", earliest=3)
    replayed(tmp_path / "calls" / "one", ScriptedModel(REPLIES))
    out = tmp_path / "out"
    told = pmem("train", "export", str(tmp_path / "calls"), "-o", str(out), "--json")
    assert json.loads(told.out)["rows"] == 0
    assert "nothing tells whether it was right" in json.loads(told.out)["left_out"]
    args = ("train", "export", str(tmp_path / "calls"), "-o", str(out), "--dataset")
    assert pmem(*args, str(dataset)).code == 0
    assert SAID in answers(out)
    elsewhere = labelled(tmp_path / "other", earliest=9)
    told = pmem(*args, str(elsewhere), "--json")
    assert json.loads(told.out)["left_out"]["the labels say otherwise"] >= 1
    assert SAID not in answers(out)


def labelled(folder: Path, *, earliest: int) -> Path:
    """A dataset of one run, which wants a reminder before one step and silence else."""
    (folder / "steps").mkdir(parents=True)
    (folder / "labels").mkdir()
    (folder / "manifest.jsonl").write_text('{"id": "one", "set": "new", "n_steps": 11}\n')
    lines = [{"header": True, "id": "one", "task": TASK}, *(s.to_json() for s in FOLLOWED)]
    (folder / "steps" / "one.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    labels = [
        {"trajectory": "one", "type": "intervene", "before_step": earliest, "earliest": earliest,
         "latest": earliest, "reason": "loop", "confidence": "high"},
        {"trajectory": "one", "type": "silence", "from": 1, "to": 11},
    ]  # fmt: skip
    (folder / "labels" / "labels.jsonl").write_text("".join(json.dumps(x) + "\n" for x in labels))
    return folder


def test_no_secret_is_in_it_even_if_one_is_on_record(pmem: Call, tmp_path: Path) -> None:
    """One recorded live, one that an older pmem left in the files, one of the user's own kind."""
    steps = [
        *FOLLOWED[:2],
        step(3, f"curl -H 'Authorization: Bearer {SECRET}' x.test"),
        *FOLLOWED[3:],
    ]
    place = session(tmp_path / "in", "20260101-000000-claude", steps)
    calls = place / "model.jsonl"
    text = calls.read_text().replace(FACT, f"{FACT}; the key is {SECRET}, badge EMP-123456")
    calls.write_text(text)
    assert SECRET in text
    replayed(tmp_path / "in" / "calls", ScriptedModel(REPLIES))
    for path in (tmp_path / "in" / "calls").iterdir():
        path.write_text(path.read_text().replace(FACT, f"{FACT} {SECRET} EMP-123456"))
    out = tmp_path / "out"
    done = pmem("train", "export", str(tmp_path / "in"), "-o", str(out), "--all",
                env={"PMEM_SECRETS": "EMP-[0-9]{6}"})  # fmt: skip
    assert done.code == 0, done.err
    written = "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    assert FACT in written and "redacted" in written
    assert SECRET not in written and SECRET[4:20] not in written and "EMP-1" not in written
    assert {path.stat().st_mode & 0o77 for path in [out, *out.iterdir()]} == {0}


def test_the_card_and_the_words_tell_rows_and_tokens(pmem: Call, tmp_path: Path) -> None:
    session(tmp_path / "in", "20260101-000000-claude", FOLLOWED)
    out = tmp_path / "out"
    told = pmem("train", "export", str(tmp_path / "in"), "-o", str(out), columns=80)
    figures = json.loads(
        pmem("train", "export", str(tmp_path / "in"), "-o", str(out), "--json").out
    )
    assert sum(figures["tokens"].values()) == figures["rows"] == len(rows(out)) > 1
    assert f"{figures['rows']} rows from 1 source: 1 reminder, " in told.out
    card = (out / "README.md").read_text()
    assert f"| rows | {figures['rows']} |" in card and "| reminders | 1 |" in card
    for line in told.out.splitlines():
        assert len(line) <= 80


def test_on_a_terminal_a_bar_shows_how_far_it_is(project: Path, home: Path, tmp_path: Path) -> None:
    replayed(tmp_path / "in" / "one", ScriptedModel(REPLIES))
    args = [
        "-m",
        "pmem",
        "train",
        "export",
        str(tmp_path / "in"),
        "--all",
        "-o",
        str(tmp_path / "o"),
    ]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(home)}
    child = pexpect.spawn(sys.executable, args, cwd=project, env=env, timeout=60, encoding="utf-8")
    child.expect(r"pmem: reading.*1/1")
    child.expect("rows from 1 source")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize(
    ("args", "code", "word"),
    [
        (["nothing"], 1, "there is no session nothing"),
        ([], 1, "no call of a model is on record there"),
        (["--dataset", "nowhere"], 2, "cannot read"),
    ],
)
def test_bad_input_is_told(pmem: Call, args: list[str], code: int, word: str) -> None:
    told = pmem("train", "export", "-o", "out", *args)
    assert told.code == code and word in told.err and "Traceback" not in told.err


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded runs are not beside this checkout")
def test_decisions_played_over_recorded_runs_become_rows(pmem: Call, tmp_path: Path) -> None:
    told = pmem("train", "export", "--dataset", str(SHARED), "-o", str(tmp_path / "out"), "--json")
    figures = json.loads(told.out)
    assert figures["rows"] == len(rows(tmp_path / "out")) > 100
    assert figures["kinds"]["reminder"] >= 3
    assert figures["validation"] > 0 < figures["train"]


def test_a_directory_that_holds_something_else_is_left_alone(pmem: Call, tmp_path: Path) -> None:
    session(tmp_path / "in", "20260101-000000-claude", FOLLOWED)
    out = tmp_path / "out"
    out.mkdir()
    (out / "README.md").write_text("mine")
    told = pmem("train", "export", str(tmp_path / "in"), "-o", str(out))
    assert told.code == 2 and "name a new one" in told.err
    assert (out / "README.md").read_text() == "mine" and len(list(out.iterdir())) == 1
