"""A replay runs the session's own ring over a recorded run, and knows what an agent could hear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pmem.core.decision import Delivery
from pmem.evaluation.dataset import load_dataset
from pmem.evaluation.evaluate import baselines, evaluate
from pmem.evaluation.replay import replay
from pmem.memory.rules import Rules

DEV_SET = Path(__file__).parents[2].parent / "shared" / "trajectories"

BROKEN = "Error: Cannot find module './db'\n"


def run(*commands: tuple[str, str, int], **header: Any) -> tuple[dict[str, Any], list[Any]]:
    lines = [
        {
            "step": n,
            "kind": "command",
            "action": command,
            "observation": output,
            "exit_code": code,
        }
        for n, (command, output, code) in enumerate(commands, start=1)
    ]
    return {"task": "make the tests pass", **header}, lines


TWICE = (
    ("npm test", BROKEN, 1),
    ("ls", "src\n", 0),
    ("npm test", BROKEN, 1),
    ("ls -a", "src\n", 0),
)


def test_what_is_said_about_a_proposed_action_counts_before_it() -> None:
    header, lines = run(*TWICE, ("npm test", BROKEN, 1))
    result = replay(header, lines, Rules())
    assert result.before_steps == [5]
    assert "steps 1 and 3" in result.said[0].reminder.text
    assert result.bank.get("npm-test").attempts == 3  # type: ignore[union-attr]
    assert [d["before_step"] for d in result.decisions if d["decision"] == "remind"] == [5]


def test_an_agent_that_hears_it_with_the_result_hears_it_a_step_later() -> None:
    header, lines = run(*TWICE, ("npm test", BROKEN, 1), ("ls", "src\n", 0))
    result = replay(header, lines, Rules(), delivery="shell")
    assert result.before_steps == [6]
    assert result.said[0].delivery is Delivery.WITH_RESULT and not result.said[0].hold


def test_calls_of_one_turn_do_not_hear_each_other() -> None:
    header, lines = run(*TWICE, ("npm test", BROKEN, 1), ("ls", "a\n", 0), ("ls", "a\n", 0))
    for line in lines[4:6]:
        line["turn"] = 9
    lines[6]["turn"] = 10
    assert replay(header, lines, Rules(), delivery="codex").before_steps == [7]


def test_rule_files_of_the_header_are_read() -> None:
    header, lines = run(
        ("git push --force", "ok\n", 0),
        context_files=[{"path": "AGENTS.md", "text": "Never force-push.\n"}],
    )
    result = replay(header, lines, Rules())
    assert result.before_steps == [1] and "AGENTS.md:1" in result.said[0].reminder.text


def test_a_prohibition_is_held_where_the_channel_can() -> None:
    header, lines = run(
        ("git push --force", "ok\n", 0),
        context_files=[{"path": "AGENTS.md", "text": "Never force-push.\n"}],
    )
    result = replay(header, lines, Rules(), delivery="claude")
    assert result.said[0].hold and result.before_steps == [1]


def test_an_empty_run_is_silent() -> None:
    assert replay({}, [], Rules()).said == []


@pytest.mark.skipif(not DEV_SET.exists(), reason="no dataset beside the checkout")
def test_the_gates_hold_on_the_recorded_runs() -> None:
    result = evaluate("rules", load_dataset(DEV_SET), lambda run: Rules())
    whole = result.total
    assert whole.false_alarm_on_silent is not None and whole.false_alarm_on_silent <= 0.008
    assert whole.silence_rate is not None and whole.silence_rate >= 0.97
    assert whole.precision is not None and whole.precision >= 0.5
    assert whole.recall_high_medium is not None and whole.recall_high_medium >= 0.2
    for id, counts in result.counts.items():
        assert counts.false_alarms <= max(1, counts.silent_steps / 100), id
    alarms = {id for id, _ in result.false_alarms()}
    assert len(alarms) == sum(c.false_alarms > 0 for c in result.counts.values())
    assert len(result.misses()) == whole.labels - whole.hits


@pytest.mark.skipif(not DEV_SET.exists(), reason="no dataset beside the checkout")
def test_baselines_frame_the_figures() -> None:
    found = baselines(load_dataset(DEV_SET))
    assert found["never"].total.silence_rate == 1.0
    assert found["always"].total.recall == 1.0 and found["always"].total.lift == 1.0
