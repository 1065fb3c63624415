"""`pmem eval replay --arm … --model …`: each arm over a labelled run, and what its prompts hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
STATUS = "half way through the plan"
FACT = "step 2: db.h comes from libdb-dev"
ARMS = ("selective", "bank", "always", "advisor")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """One run: a build fails at step 2, then quiet work to step 11; a label before step 3."""
    folder = tmp_path / "runs"
    (folder / "steps").mkdir(parents=True)
    (folder / "labels").mkdir()
    (folder / "manifest.jsonl").write_text('{"id": "one", "set": "new", "n_steps": 11}\n')
    rules = [{"path": "AGENTS.md", "text": "Releases are cut from stable."}]
    lines: list[dict[str, Any]] = [
        {"header": True, "id": "one", "task": "Make it build.", "context_files": rules},
        {"step": 1, "kind": "command", "action": "ls", "observation": "Makefile", "exit_code": 0},
        {"step": 2, "kind": "command", "action": "make", "exit_code": 2,
         "observation": "fatal error: db.h: No such file"},
    ]  # fmt: skip
    lines += [
        {"step": n, "kind": "command", "action": f"touch f{n}", "observation": "", "exit_code": 0}
        for n in range(3, 12)
    ]
    (folder / "steps" / "one.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    common = {"trajectory": "one", "n_steps": 11}
    labels = [
        {**common, "type": "intervene", "before_step": 3, "earliest": 3, "latest": 4,
         "reason": "ignored_diagnosis", "confidence": "high", "needs_action_preview": False},
        {**common, "type": "silence", "from": 5, "to": 11},
    ]  # fmt: skip
    (folder / "labels" / "labels.jsonl").write_text("".join(json.dumps(x) + "\n" for x in labels))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A script: keeps a status and a fact at the failure, says the fact, is silent else."""
    keeps = [
        {"name": "memory_update_status", "arguments": {"content": STATUS}},
        {"name": "memory_save_knowledge", "arguments": {"id": "db", "content": FACT}},
    ]
    says = f'<context_for_action entries="db">{FACT}</context_for_action>'
    replies = [
        {"phase": "manage", "contains": "db.h: No such file", "calls": keeps},
        {"phase": "decide", "contains": "db.h: No such file", "text": says},
        {"text": "<no_intervention/>", "times": 0},
    ]
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"replies": replies}))
    return f"scripted:{path}"


def prompts(folder: Path) -> dict[str, str]:
    """The prompts of a run, by number and phase."""
    return {p.name[:-11]: p.read_text() for p in sorted(folder.glob("*-prompt.txt"))}


@pytest.fixture
def played(pmem: Call, dataset: Path, model: str, tmp_path: Path) -> tuple[Any, Path]:
    """All four arms: their figures, and the directory of their prompts."""
    calls = tmp_path / "calls"
    named = [word for arm in ARMS for word in ("--arm", arm)]
    args = ("--dataset", str(dataset), "--model", model, "--prompts-to", str(calls), "--json")
    said = pmem("eval", "replay", *named, *args)
    assert said.code == 0, said.err
    return json.loads(said.out), calls


def test_every_arm_is_scored_by_its_name(played: tuple[Any, Path]) -> None:
    figures, _ = played
    assert list(figures) == list(ARMS)
    assert figures["selective"]["recall"] == figures["selective"]["precision"] == 1.0
    assert figures["bank"]["false_alarm_on_silent"] > 0  # it tells its bank at each memory step


@pytest.mark.parametrize("arm", ARMS)
def test_every_prompt_begins_with_the_task_and_the_rule_files(
    played: tuple[Any, Path], arm: str
) -> None:
    sent = prompts(played[1] / arm / "one")
    assert sent
    for text in sent.values():
        assert text.index("| Make it build.") < text.index("| Releases are cut from stable.")
        assert text.index("# Task") < text.index("# Steps")


def test_selective_has_two_phases_in_one_conversation_on_a_bank(played: tuple[Any, Path]) -> None:
    sent = prompts(played[1] / "selective" / "one")
    decided = next(text for name, text in sent.items() if name.endswith("decide") and FACT in text)
    assert "no_intervention" in decided and "[your answer before]" in decided
    later = [t for n, t in sent.items() if n.endswith("manage") and "step 5: command" in t]
    assert later
    for text in later:
        assert "## knowledge\n- [db] | " + FACT in text
        assert f"## status\n| {STATUS}" in text
        assert f"# Reminders so far\nafter step 2, before | {FACT}" in text


def test_bank_is_never_asked_to_decide(played: tuple[Any, Path]) -> None:
    sent = prompts(played[1] / "bank" / "one")
    assert {name[5:] for name in sent} == {"manage"}


def test_always_offers_no_silence(played: tuple[Any, Path]) -> None:
    sent = prompts(played[1] / "always" / "one")
    decided = [text for name, text in sent.items() if name.endswith("decide")]
    assert decided
    for text in decided:
        assert "no_intervention" not in text.rsplit("</tool_response>", 1)[-1].rsplit("\n\n", 1)[-1]


def test_advisor_sees_steps_and_never_a_bank(played: tuple[Any, Path]) -> None:
    sent = prompts(played[1] / "advisor" / "one")
    assert {name[5:] for name in sent} == {"decide"}
    for text in sent.values():
        assert "# Bank" not in text and STATUS not in text and "memory_save" not in text
        assert "# Steps" in text


def test_pure_asks_twice_after_every_step(
    pmem: Call, dataset: Path, model: str, tmp_path: Path
) -> None:
    args = ("--dataset", str(dataset), "--model", model, "--pure", "--json")
    said = pmem("eval", "replay", *args, "--prompts-to", str(tmp_path / "calls"))
    assert list(json.loads(said.out)) == ["pure"]
    sent = prompts(tmp_path / "calls" / "pure" / "one")
    phases = [name[5:] for name in sent]
    assert phases == ["manage", *["manage", "decide"] * 11]  # the task alone comes first
    assert len({text.split("# Task")[0] for text in sent.values()}) == 2


def test_an_arm_without_its_model_is_said(pmem: Call, dataset: Path) -> None:
    said = pmem("eval", "replay", "--dataset", str(dataset), "--arm", "always")
    assert said.code == 2 and "the arm always needs a model" in said.err


def test_the_arm_off_is_scored_as_silence(pmem: Call, dataset: Path) -> None:
    said = pmem("eval", "replay", "--dataset", str(dataset), "--arm", "off", "--json")
    figures = json.loads(said.out)["off"]
    assert said.code == 0 and figures["silence_rate"] == 1.0 and figures["recall"] == 0.0


def test_arms_without_a_model_stand_beside_one_with(pmem: Call, dataset: Path, model: str) -> None:
    named = ("--arm", "selective", "--arm", "off", "--arm", "rules", "--model", model)
    said = pmem("eval", "replay", *named, "--dataset", str(dataset), "--json", "--yes")
    assert said.code == 0 and list(json.loads(said.out)) == ["selective", "off", "rules"]


def test_models_stand_side_by_side(pmem: Call, dataset: Path, model: str, tmp_path: Path) -> None:
    (tmp_path / "silent.json").write_text('{"replies": [{"text": "<no_intervention/>"}]}')
    silent, calls = f"scripted:{tmp_path / 'silent.json'}", tmp_path / "calls"
    models = ("--model", model, "--model", silent, "--model", model)
    told = ("--dataset", str(dataset), "--prompts-to", str(calls))
    said = pmem("eval", "replay", "--arm", "rules", "--arm", "selective", *models, *told, "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert list(found) == ["rules", f"selective {model}", f"selective {silent}"]
    assert found[f"selective {model}"]["recall"] == 1.0
    assert found[f"selective {silent}"]["recall"] == 0.0
    # What each of them took, and what each was asked, can be told apart.
    assert f"selective {silent}: " in said.err
    assert len([path for path in calls.iterdir() if list(path.rglob("calls.jsonl"))]) == 2


@pytest.mark.parametrize("wrong", ["on", "selectiv"])
def test_a_wrong_arm_is_told_before_anything_is_asked(
    pmem: Call, dataset: Path, model: str, tmp_path: Path, wrong: str
) -> None:
    calls = tmp_path / "calls"
    named = ("--arm", "selective", "--arm", wrong, "--model", model, "--prompts-to", str(calls))
    said = pmem("eval", "replay", *named, "--dataset", str(dataset))
    assert said.code == 2 and f"the arm {wrong} has no model" in said.err
    assert not calls.exists()
