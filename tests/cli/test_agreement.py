"""`pmem eval agreement`: a table for people, figures for programs, a sentence for bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
BROKEN = "Error: Cannot find module './db'\n"


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


def test_the_command_tells_agreement_rates_and_labels(pmem: Call, dataset: Path) -> None:
    decisions = [
        {"trajectory": "one", "before_step": n, "decision": "inject" if n == 6 else "silent"}
        for n in (1, 2, 3, 5, 6)
    ]
    write(dataset / "labels" / "paper_decisions.jsonl", *decisions)
    told = json.loads(pmem("eval", "agreement", "--dataset", str(dataset), "--json").out)
    paper = told["rules"]["paper"]
    assert (paper["agreement"], paper["kappa"], paper["points"]) == (1.0, 1.0, 5)
    assert paper["speaking_rate"] == {"recorded": 0.2, "rules": 0.2}
    assert paper["labels"]["rules"]["recall"] == paper["labels"]["recorded"]["recall"] == 1.0
    table = pmem("eval", "agreement", "--dataset", str(dataset), columns=100).out
    assert "5 decision points in 1 run; the two agree at 1.000" in table
    assert "played" not in table


def test_a_model_can_be_put_beside_them(pmem: Call, dataset: Path, tmp_path: Path) -> None:
    row = {"trajectory": "one", "after_step": 1, "answer": {}}
    write(dataset / "labels" / "played_decisions.jsonl", row)
    (tmp_path / "m.json").write_text('{"replies": []}')
    args = ("--model", f"scripted:{tmp_path / 'm.json'}", "--pure", "--json")
    told = json.loads(pmem("eval", "agreement", "--dataset", str(dataset), *args).out)
    played = told["pure"]["played"]
    assert (played["agreement"], played["kappa"]) == (1.0, None)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (None, "has no recorded decisions"),
        ({"trajectory": "two", "before_step": 1, "decision": "silent"}, "line 1: its trajectory"),
        ({"trajectory": "one", "before_step": 1, "decision": "perhaps"}, "line 1: it is no dec"),
        ({"trajectory": "one", "before_step": "1", "decision": "silent"}, "line 1: it is no dec"),
        ([1], "line 1: it is no object"),
    ],
)
def test_what_is_no_recorded_decision_is_told(
    pmem: Call, dataset: Path, row: Any, words: str
) -> None:
    if row is not None:
        write(dataset / "labels" / "paper_decisions.jsonl", row)
    said = pmem("eval", "agreement", "--dataset", str(dataset))
    assert said.code == 2 and words in said.err and "Traceback" not in said.err
