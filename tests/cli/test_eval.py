"""`pmem eval replay`: a labelled dataset, replayed and scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
BROKEN = "Error: Cannot find module './db'\n"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """One run of six steps: a command fails twice alike, and is proposed again."""
    folder = tmp_path / "runs"
    (folder / "steps").mkdir(parents=True)
    (folder / "labels").mkdir()
    manifest = {"id": "one", "set": "new", "n_steps": 6}
    (folder / "manifest.jsonl").write_text(json.dumps(manifest) + "\n")
    actions = [("npm test", BROKEN, 1), ("ls", "src\n", 0)] * 2 + [("npm test", BROKEN, 1)]
    lines: list[dict[str, Any]] = [{"header": True, "id": "one", "task": "fix it"}]
    lines += [
        {"step": n, "kind": "command", "action": a, "observation": o, "exit_code": c}
        for n, (a, o, c) in enumerate(actions, start=1)
    ]
    lines.append({"step": 6, "kind": "message", "action": "All tests pass.", "observation": ""})
    (folder / "steps" / "one.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    label = {
        "trajectory": "one",
        "type": "intervene",
        "before_step": 5,
        "earliest": 5,
        "latest": 5,
        "reason": "repeat_failure",
        "confidence": "high",
        "needs_action_preview": True,
        "reminder": "npm test failed twice alike.",
    }
    silence = {"trajectory": "one", "type": "silence", "from": 1, "to": 4}
    rows = "".join(json.dumps(x) + "\n" for x in (label, silence))
    (folder / "labels" / "labels.jsonl").write_text(rows)
    return folder


def test_the_figures_of_an_arm_as_json(pmem: Call, dataset: Path) -> None:
    told = json.loads(pmem("eval", "replay", "--dataset", str(dataset), "--json").out)["rules"]
    assert (told["recall"], told["precision"], told["false_alarm_on_silent"]) == (1.0, 1.0, 0.0)
    assert told["by_reason"] == {"repeat_failure": "1/1"}
    assert told["by_rule"]["repeated_failure"]["in_window"] == 1
    assert told["decision_points"] == 6


def test_the_table_has_simple_policies_beside_it(pmem: Call, dataset: Path) -> None:
    out = pmem("eval", "replay", "--dataset", str(dataset), columns=100).out
    assert "rules" in out and "always" in out and "repeated_failure" in out


def test_where_an_agent_hears_it_too_late_it_is_a_miss(pmem: Call, dataset: Path) -> None:
    said = pmem("eval", "replay", "--dataset", str(dataset), "--delivery", "shell", "--json")
    assert json.loads(said.out)["rules"]["recall"] == 0.0
    shown = pmem(
        "eval", "replay", "--dataset", str(dataset), "--delivery", "shell", "--show", "misses"
    )
    assert "before step 5" in shown.out and "wanted: npm test failed twice alike." in shown.out


@pytest.mark.parametrize(
    "args, words",
    [
        (("--dataset", "nowhere"), "cannot read"),
        (("--dataset", ".", "--arm", "wizard"), "cannot read"),
    ],
)
def test_bad_input_is_told(pmem: Call, args: tuple[str, ...], words: str) -> None:
    said = pmem("eval", "replay", *args)
    assert said.code == 2 and words in said.err and "Traceback" not in said.err


def test_a_broken_line_is_told_by_number(pmem: Call, dataset: Path) -> None:
    file = dataset / "steps" / "one.jsonl"
    file.write_text(file.read_text() + "{broken\n")
    said = pmem("eval", "replay", "--dataset", str(dataset))
    assert said.code == 2 and "one.jsonl, line 8" in said.err
