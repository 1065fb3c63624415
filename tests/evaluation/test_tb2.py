"""Terminal-Bench on Harbor with every arm: scripted models, a real task, Harbor's own reward."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from endpoint import Endpoint
from harbor_models import RIGHT, plays, reminded
from harbor_runs import command, image, needs_layers, run, variables
from harbors import interpreter, refused

from pmem.evaluation.results import Results, load
from pmem.evaluation.table import figures

pytestmark = pytest.mark.slow
SPEAKING = ("selective", "pure", "bank", "always", "advisor")
INSIDE = ("off", "rules", *SPEAKING)
QUICK = ("--ak", "record_terminal_session=false")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    needs_layers()
    served = Endpoint(plays)
    yield served
    served.close()


@pytest.fixture(scope="module")
def ran(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """The results of all that plays, run one after the other."""
    home = tmp_path_factory.mktemp("tb2")
    mini = ("--agent", "mini-swe-agent", "--reach", "127.0.0.1", "--", "--ek")
    mini += (f"image={image(home)}", "--ae", "LITELLM_LOCAL_MODEL_COST_MAP=True")
    terminus = ("--agent", "terminus-2", "--", *QUICK, "--ak", "max_turns=10")
    commands = {arm: command(arm, home, "--", *QUICK) for arm in INSIDE}
    commands["oracle"] = command("off", home, "--agent", "oracle", to="oracle")
    commands["terminus"] = command("selective", home, *terminus, to="terminus")
    commands["mini"] = command("selective", home, *mini, to="mini")
    commands["mini-off"] = command("off", home, *mini[:2], *mini[4:], to="mini-off")
    done = run(list(commands.values()), endpoint.url, home)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: load(home / name) for name in commands}


def test_what_remembers_solves_what_is_not_solved_without(ran: dict[str, Results]) -> None:
    rewards = {name: [t.reward for t in results.trials] for name, results in ran.items()}
    assert rewards.pop("off") == rewards.pop("mini-off") == [0.0]
    assert rewards == {name: [1.0] for name in ("rules", *SPEAKING, "oracle", "terminus", "mini")}
    off, selective = figures([ran["off"], ran["selective"]])
    assert off.silence is None and selective.paired is not None and selective.paired.gain == 100


def test_a_note_stands_in_its_own_call_and_stays_only_in_the_papers_form(
    ran: dict[str, Results], endpoint: Endpoint
) -> None:
    told = iter(reminded(endpoint.requests))
    found = {
        name: [next(told) for trial in results.trials for _ in range(trial.action.calls)]
        for name, results in ran.items()
    }
    # The wrong way, the remembered way, that it is done (which Terminus 2 says twice).
    for name, calls in (("selective", 4), ("terminus", 4), ("mini", 3)):
        assert len(found[name]) >= calls and found[name].count(True) == 1
        assert not found[name][0] and not found[name][-1]
    assert found["pure"] == sorted(found["pure"]) and found["pure"].count(True) >= 3
    assert not any(found["off"]) and not any(found["mini-off"])
    assert next(told, None) is None


def test_tokens_decisions_and_versions_are_kept(ran: dict[str, Results]) -> None:
    for name in ("selective", "terminus", "mini"):
        (trial,) = ran[name].trials
        assert (trial.spoke, trial.points) == (1, trial.steps)
        assert [d["decision"] for d in ran[name].decisions(trial)].count("remind") == 1
        assert trial.memory.calls > 0 and trial.action.input == 100 * trial.steps
    assert ran["off"].config.tasks == {"": ["build-it"]}
    assert set(ran["off"].versions) == {"python", "pmem", "harbor"}


def test_every_trajectory_is_valid_and_has_the_note_where_it_was_read(
    ran: dict[str, Results],
) -> None:
    paths = [path for r in ran.values() for path in (r.folder / "trajectories").glob("*.json")]
    assert len(paths) == len(ran) - 1  # the oracle has none
    assert refused(paths) == {}
    for name in ("selective", "terminus", "mini"):
        (path,) = (ran[name].folder / "trajectories").glob("*.json")
        agent = [s for s in json.loads(path.read_text())["steps"] if s["source"] == "agent"]
        own = [(step.get("extra") or {}).get("pmem") or {} for step in agent]
        (read,) = [n for n, one in enumerate(own) if "note" in one]
        assert own[read]["decisions"][-1]["text"] in own[read]["note"]
        assert RIGHT in json.dumps(agent[read]["tool_calls"])


def test_a_memory_that_cannot_be_asked_ends_the_run_and_counts_for_nothing(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    keyless = ("--memory-model", "anthropic:some", "-k", "2", "-n", "1")
    proxied = ("--agent", "terminus-2")
    commands = [
        command("selective", tmp_path, *more, *keyless, "--", *QUICK, to=to)
        for to, more in (("inside", ()), ("proxied", proxied))
    ]
    asked = len(endpoint.requests)
    done = run(commands, endpoint.url, tmp_path)
    assert done.returncode == 125
    assert done.stderr.count("CannotGoOn: there is no key for anthropic:some") == 2
    assert [load(tmp_path / to).trials for to in ("inside", "proxied")] == [[], []]
    assert len(endpoint.requests) - asked <= 2 * 2  # it looks after the first step


def test_a_killed_run_goes_on_and_runs_nothing_twice(endpoint: Endpoint, tmp_path: Path) -> None:
    """In another interpreter than pmem's own, as on a machine whose pmem has Python 3.11."""
    words = command("selective", tmp_path, "-k", "3", "-n", "1", "--", *QUICK, to="killed")
    env = variables(endpoint.url, tmp_path)
    env["PATH"] = f"{interpreter().parent}:{env['PATH']}"
    started = [sys.executable, "-m", "pmem", *words]
    lines, job = tmp_path / "killed" / "trials.jsonl", tmp_path / "killed" / "harbor"
    with subprocess.Popen(started, cwd=tmp_path, env=env, stderr=subprocess.DEVNULL) as run_:
        until(lambda: lines.exists() and len(list(job.glob("*/agent/trajectory.json"))) == 2)
        os.kill(run_.pid, signal.SIGKILL)
    first = [json.loads(line) for line in lines.read_text().splitlines()]
    ended = len(list(job.glob("*/result.json")))
    assert 1 <= len(first) <= ended < 3
    lines.write_text("")  # as if it had been killed before these lines
    asked = len(endpoint.requests)
    again = [*started[: started.index("--")], "--resume", *started[started.index("--") :]]
    done = subprocess.run(again, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 trials solved" in done.stderr
    written = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [(t["n"], t["reward"]) for t in written] == [(0, 1.0), (1, 1.0), (2, 1.0)]
    assert written[: len(first)] == first
    again_asked = sum(trial["action"]["calls"] for trial in written[ended:])
    assert len(endpoint.requests) - asked == again_asked
    assert load(tmp_path / "killed").missing() == []


def until(there: Callable[[], bool]) -> None:
    """Wait for something that comes; fails after a generous while."""
    limit = time.monotonic() + 120
    while not there():
        assert time.monotonic() < limit
        time.sleep(0.02)
