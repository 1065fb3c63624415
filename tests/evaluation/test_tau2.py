"""tau2-bench with every arm: scripted models on loopback, the real tasks, the real reward."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint import Endpoint
from tau2s import MEMORY, REMINDER, plays, run

from pmem.evaluation.results import Results, load
from pmem.evaluation.table import figures

pytestmark = pytest.mark.slow
TASKS = (("mock", "create_task_1"), ("airline", "0"))
SPEAKING = ("selective", "pure", "bank", "always", "advisor")
ARMS = ("off", "rules", *SPEAKING)


def command(arm: str, home: Path, *more: str) -> list[str]:
    script = home / "memory.json"
    script.write_text(json.dumps(MEMORY))
    words = ["eval", "tau2", "--arm", "selective" if arm == "pure" else arm, "--interval", "1"]
    words += ["--action-model", "openai:actor", "--user-model", "openai:user"]
    words += ["--pure"] if arm == "pure" else []
    words += ["--memory-model", f"scripted:{script}"] if arm in SPEAKING else []
    for domain, _ in TASKS:
        words += ["--domain", domain]
    return [*words, "--tasks", "create_task_1,0", "--to", arm, *more]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint(plays)
    yield served
    served.close()


@pytest.fixture(scope="module")
def ran(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """The results of all arms, run one after the other."""
    home = tmp_path_factory.mktemp("tau2")
    done = run([command(arm, home) for arm in ARMS], endpoint.url, home)
    assert done.returncode == 0, done.stdout + done.stderr
    return {arm: load(home / arm) for arm in ARMS}


def test_every_arm_with_a_model_solves_what_is_not_solved_without(ran: dict[str, Results]) -> None:
    rewards = {arm: [t.reward for t in results.trials] for arm, results in ran.items()}
    assert rewards.pop("off") == [0.0, 0.0]
    assert rewards.pop("rules") == [0.0, 0.0]  # nothing fails twice here
    assert rewards == {arm: [1.0, 1.0] for arm in SPEAKING}
    off, selective = figures([ran["off"], ran["selective"]])
    assert off.silence is None and selective.paired is not None and selective.paired.gain == 100


def test_decisions_tokens_and_the_talk_are_kept(ran: dict[str, Results]) -> None:
    for trial in ran["selective"].trials:
        assert (trial.spoke, trial.points) == (1, trial.steps)
        told = ran["selective"].decisions(trial)
        assert [d["decision"] for d in told].count("remind") == 1
        assert trial.memory.calls > 0 and trial.action.input == 1000 * trial.steps
    talk = json.loads((ran["off"].folder / "talks" / "airline__0__0.json").read_text())
    assert talk["task_id"] == "0"


def test_a_note_stands_in_its_own_call_and_in_no_other(
    ran: dict[str, Results], endpoint: Endpoint
) -> None:
    acted = [r for r in endpoint.requests if r["model"] == "actor"]
    notes = iter(REMINDER in json.dumps(r["messages"]) for r in acted)
    found = {
        arm: [next(notes) for trial in ran[arm].trials for _ in range(trial.action.calls)]
        for arm in ARMS
    }
    # mock: wrong call, reminded call, closing words; airline: look-up, reminded refusal.
    assert found["selective"] == found["pure"] == [False, True, False, False, True]
    assert not any(found["off"]) and not any(found["rules"])


def test_a_run_goes_on_where_it_was(ran: dict[str, Results], endpoint: Endpoint) -> None:
    folder = ran["off"].folder
    trials = folder / "trials.jsonl"
    first, second = trials.read_text().splitlines(keepends=True)
    trials.write_text(first + second[:40])
    home = folder.parent
    again = run([command("off", home, "--resume")] * 2, endpoint.url, home)
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("reward") == 1 and "1 of 1, airline 0" in again.stderr
    assert trials.read_text().splitlines(keepends=True)[0] == first
    assert load(folder).missing() == []
