"""What Harbor leaves behind becomes lines, whatever ended it; without Harbor, on files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pmem.evaluation.harbor_trials import annotated, clean, collect
from pmem.evaluation.results import Config, Results, Took, begin, load
from pmem.models.prices import load_prices

CONFIG = Config("tb2", "selective", "anthropic:claude-sonnet-4-5", k=2, tasks={"": ["a", "b"]})
PRICES = load_prices(None)


def over(folder: Path, task: str, name: str, **more: Any) -> Path:
    """A trial that Harbor has finished."""
    place = folder / "harbor" / name
    (place / "agent").mkdir(parents=True)
    told = {
        "task_id": {"path": f"/tasks/{task}"},
        "reward_valid": True,
        "verifier_result": {"rewards": {"reward": 1.0}},
        "agent_result": {"n_input_tokens": 3000, "n_cache_tokens": 1000, "n_output_tokens": 100},
        "exception_info": None,
        "started_at": "2026-11-30T21:00:00.500000Z",
        "finished_at": "2026-11-30T21:01:00Z",
        **more,
    }
    (place / "result.json").write_text(json.dumps(told))
    return place


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return begin(tmp_path / "run", CONFIG, {})


def test_a_trial_becomes_a_line_once_with_tokens_money_and_time(results: Results) -> None:
    place = over(results.folder, "a", "a__x1")
    record = {"points": 3, "spoke": 1, "seconds": 0.5, "took": {"calls": 2, "input": 10}}
    (place / "agent" / "pmem.json").write_text(json.dumps({**record, "decisions": [{"n": 1}]}))
    (trial,) = collect(results, PRICES)
    assert collect(load(results.folder), PRICES) == []
    assert (trial.id, trial.reward, trial.seconds, trial.source) == (("", "a", 0), 1, 59.5, "a__x1")
    assert (trial.points, trial.spoke, trial.memory_seconds) == (3, 1, 0.5)
    # 3, 15 and 0.3 dollars for a million tokens in, out, and read from a cache.
    assert trial.action == Took(0, 3000, 100, 1000, pytest.approx(0.006 + 0.0015 + 0.0003))
    assert trial.memory == Took(2, 10)
    assert results.decisions(trial) == [{"n": 1}]


def test_trials_of_a_task_are_numbered_as_they_end(results: Results) -> None:
    for name in ("a__x1", "a__x2"):
        over(results.folder, "a", name)
        collect(results, PRICES)
    over(results.folder, "b", "b__x1", task_id={"org": "o", "name": "b"})
    collect(results, PRICES)
    assert [t.id for t in results.trials] == [("", "a", 0), ("", "a", 1), ("", "o/b", 0)]


def test_what_broke_or_is_half_written_is_no_line_and_is_run_again(results: Results) -> None:
    job = results.folder / "harbor"
    over(results.folder, "a", "a__whole")
    over(results.folder, "a", "a__broke", reward_valid=False, verifier_result=None)
    (over(results.folder, "b", "b__torn") / "result.json").write_text('{"task_id": {"pa')
    (job / "b__killed" / "agent").mkdir(parents=True)
    (job / "lock.json").write_text("{")
    (job / "config.json").write_text("{}")
    assert [t.source for t in collect(results, PRICES)] == ["a__whole"]
    assert clean(results.folder) == 1
    assert sorted(p.name for p in job.iterdir()) == ["a__whole", "config.json"]


def test_a_trial_that_ran_out_of_time_counts_and_says_so(results: Results) -> None:
    over(
        *(results.folder, "a", "a__late"),
        exception_info={"exception_type": "AgentTimeoutError"},
        verifier_result={"rewards": {"reward": 0}},
    )
    (trial,) = collect(results, PRICES)
    assert (trial.reward, trial.error) == (0.0, "AgentTimeoutError")


def document(*sources: str) -> dict[str, Any]:
    steps = [{"step_id": n, "source": s, "message": ""} for n, s in enumerate(sources, 1)]
    return {"schema_version": "ATIF-v1.8", "steps": steps}


def test_decisions_stand_with_the_call_they_were_made_for() -> None:
    told = document("user", "agent", "agent", "agent")
    told["steps"][2]["extra"] = {"theirs": 1}
    decisions = [{"n": 1}, {"n": 2}, {"n": 3}]
    made = annotated(told, {"calls": [["", 0], ["mind", 1], ["", 2]], "decisions": decisions})
    assert [step.get("extra") for step in made["steps"]] == [
        None,
        None,
        {"theirs": 1, "pmem": {"decisions": [{"n": 1}], "note": "mind"}},
        {"pmem": {"decisions": [{"n": 2}, {"n": 3}]}},  # the last came after all calls
    ]


def test_no_decision_is_lost_where_calls_and_steps_do_not_match() -> None:
    record = {"calls": [["", 0], ["a", 1], ["b", 2]], "decisions": [{"n": 1}, {"n": 2}]}
    (step,) = annotated(document("agent"), record)["steps"]
    assert step["extra"]["pmem"] == {"decisions": [{"n": 1}, {"n": 2}], "note": "a\n\nb"}
    assert annotated(document("user"), record) == document("user")
    assert annotated(document("agent"), {}) == document("agent")
