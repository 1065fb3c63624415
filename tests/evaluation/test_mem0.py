"""The arm mem0: the real Mem0 with a local store, an embedder from PyPI, and models on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Sent
from mem0s import embedder, extracts, run
from tau2s import DRIVER, REMINDER, plays

from pmem.evaluation.results import Results, load

pytestmark = pytest.mark.slow
FACTS = {
    "user_9 not found": "The task is wanted for user_1; user_9 does not exist.",
    "emma_kim": "EHGLP3 has no insurance, so it cannot be cancelled.",
}
COMMAND = ["eval", "tau2", "--arm", "mem0", "--to", "mem0", "--memory-model", "openai:keeper"]
COMMAND += ["--action-model", "openai:actor", "--user-model", "openai:user", "--domain", "mock"]
COMMAND += ["--domain", "airline", "--tasks", "create_task_1,0", "--embedder", "openai:e5"]
#: A trial by hand: each line of stdin is a command and what it printed, each note is told.
BY_HAND = """
import json, os, sys
from contextlib import closing
from pmem.core.step import Action
from pmem.evaluation.live import Remembering, TrialMemory
from pmem.models.prices import load_prices
how = Remembering("mem0", "openai:keeper", embedder="openai:e5", embedder_url=sys.stdin.readline().strip())
with closing(TrialMemory(how, "Build it.", os.environ, load_prices(), "test")) as memory:
    print(json.dumps(memory.note()))
    for line in sys.stdin:
        memory.acted(Action("command", *json.loads(line)[:1]), json.loads(line)[1])
        print(json.dumps(memory.note()))
    print(json.dumps([memory.took.calls, memory.took.input, memory.points, memory.spoke]))
print(json.dumps(sorted(p for p in os.listdir(".") if "mem0" in p)))
"""  # noqa: E501

#: Two trials beside each other, each in a thread of its own, as Harbor runs them.
TWO = """
import json, os, sys
from concurrent.futures import ThreadPoolExecutor
from pmem.core.step import Action
from pmem.evaluation.live import Remembering, TrialMemory
from pmem.models.prices import load_prices
how = Remembering("mem0", "openai:keeper", embedder="openai:e5", embedder_url=sys.stdin.readline().strip())
first, second = (TrialMemory(how, "", os.environ, load_prices(), "test") for _ in "ab")
def act(memory, text):
    memory.acted(Action("command", "true"), text)
    return memory.note()
with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
    told = [one.submit(act, first, "first"), other.submit(act, second, "third")]
    print(json.dumps([note.result() for note in told]))
    one.submit(first.close).result()
    print(json.dumps([other.submit(act, second, "first").result()]))
    other.submit(second.close).result()
print(json.dumps(sorted(p for p in os.listdir(".") if "mem0" in p)))
"""  # noqa: E501


@pytest.fixture(scope="module")
def embeds() -> Iterator[str]:
    with embedder() as url:
        yield url


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    def answers(request: Any) -> Sent:
        return extracts(request, FACTS) if request["model"] == "keeper" else plays(request)

    served = Endpoint(answers)
    yield served
    served.close()


@pytest.fixture(scope="module")
def ran(
    endpoint: Endpoint, embeds: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Results, str]:
    """Both tasks of tau2-bench with Mem0, and what was said on stderr."""
    home = tmp_path_factory.mktemp("mem0")
    code = f"COMMANDS = {[[*COMMAND, '--embedder-url', embeds]]!r}\n{DRIVER}"
    url = f"{endpoint.url}/v1"
    done = run(code, home, tau2=True, OPENAI_API_BASE=url, OPENAI_BASE_URL=url)
    assert done.returncode == 0, done.stdout + done.stderr
    return load(home / "mem0"), done.stderr


def _acted(endpoint: Endpoint) -> list[Sequence[Any]]:
    """The messages of each call of the action agent, in order."""
    return [r["messages"] for r in endpoint.requests if r["model"] == "actor"]


def _notes(messages: Sequence[Any]) -> list[str]:
    return [m["content"] for m in messages if REMINDER in str(m.get("content"))]


def test_the_real_mem0_makes_the_difference(ran: tuple[Results, str]) -> None:
    results, _ = ran
    assert [t.reward for t in results.trials] == [1.0, 1.0]
    assert results.versions["mem0ai"] == "2.2.1" and results.config.extra["embedder"] == "openai:e5"
    mock, airline = results.trials
    # Greeting, wish, look-up or wrong call; and in the mock task the right call.
    assert (mock.memory.calls, airline.memory.calls) == (4, 3)
    assert (mock.memory.input, mock.points, mock.spoke) == (4000, 3, 2)
    told = [d["decision"] for d in results.decisions(airline)]
    assert told == ["silent", "silent", "remind"]


def test_what_mem0_finds_is_in_exactly_the_calls_it_was_found_for(
    ran: tuple[Results, str], endpoint: Endpoint
) -> None:
    found = [_notes(messages) for messages in _acted(endpoint)]
    # mock: wrong call, reminded call, closing words; airline: look-up, reminded refusal.
    assert [len(notes) for notes in found] == [0, 1, 1, 0, 1]
    task, fare = FACTS.values()
    assert [task in n for notes in found for n in notes] == [True, True, False]
    assert fare in found[4][0] and task not in found[4][0]  # a store for each trial
    last = _acted(endpoint)[2][-1]
    assert last["role"] == "user" and REMINDER in last["content"]


def test_nothing_leaves_the_machine_and_nothing_stays_on_it(ran: tuple[Results, str]) -> None:
    results, said = ran
    assert [line for line in said.splitlines() if "reaches" in line or "mem0" in line] == []
    home = results.folder.parent
    assert [p.name for p in home.iterdir() if "mem0" in p.name] == ["mem0"]


def test_ten_are_found_the_nearest_first(embeds: str, home: Path) -> None:
    colours = ["red", "green", "blue", "black", "white", "brown", "pink", "grey", "gold", "rose"]
    colours += ["lime"]
    facts = {f"paint {c};": f"The house number {n} is {c}." for n, c in enumerate(colours)}
    served = Endpoint(
        lambda request: extracts(request, {**facts, "port": "The server is on 8080."})
    )
    steps = [*(["true", f"paint {c};"] for c in colours), ["curl", "which port?"]]
    steps += [["curl localhost", "connection refused: is the server on another port?"]]
    stdin = "\n".join([embeds, *map(json.dumps, steps)])
    done = run(BY_HAND, home, stdin=stdin, OPENAI_BASE_URL=f"{served.url}/v1")
    served.close()
    assert done.returncode == 0, done.stderr
    *notes, took, left = map(json.loads, done.stdout.splitlines())
    assert notes[0] == "" and [n.count("\n- ") for n in notes[1:]] == [*range(1, 11), 10, 10, 10]
    first = notes[-1].split("\n- ")[1]
    assert first.startswith("The server is on 8080.")
    assert took[0] == len(steps) and took[2:] == [len(steps) + 1, len(steps)] and left == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
            "Mem0's embedder cannot be used: cannot reach",
        ),
        ({}, "there is no embedder 'e5'; one is named openai:NAME"),
    ],
)
def test_an_embedder_that_is_no_use_is_told_at_once(
    home: Path, more: dict[str, str], says: str
) -> None:
    name = "openai:e5" if more else "e5"
    code = BY_HAND.replace('"openai:e5"', json.dumps(name))
    done = run(code, home, stdin="\n", **more)
    assert done.returncode == 1 and says in done.stderr.splitlines()[-1]
    assert not [p for p in home.iterdir() if "mem0" in p.name]


def test_a_step_that_the_model_fails_on_is_not_kept(embeds: str, home: Path) -> None:
    def answers(request: Any) -> Sent:
        if "second" in request["messages"][-1]["content"].partition("## New Messages")[2]:
            return Sent(400, {"error": {"message": "too long"}})
        return extracts(request, {"first": "It is the first.", "third": "It is the third."})

    served = Endpoint(answers)
    stdin = "\n".join([embeds, *(json.dumps(["true", n]) for n in ("first", "second", "third"))])
    done = run(BY_HAND, home, stdin=stdin, OPENAI_BASE_URL=f"{served.url}/v1")
    served.close()
    assert done.returncode == 0, done.stderr
    notes = [json.loads(line) for line in done.stdout.splitlines()[1:4]]
    assert ["first" in n for n in notes] == [True] * 3
    assert ["third" in n for n in notes] == [False, False, True]


def test_a_key_that_is_refused_ends_the_run(embeds: str, home: Path) -> None:
    served = Endpoint([Sent(401, {"error": {"message": "no such key"}})])
    stdin = "\n".join([embeds, json.dumps(["true", "first"])])
    done = run(BY_HAND, home, stdin=stdin, OPENAI_BASE_URL=f"{served.url}/v1")
    served.close()
    assert "CannotGoOn: " in done.stderr and "refused the key (401)" in done.stderr
    assert not [p for p in home.iterdir() if "mem0" in p.name]


def test_trials_beside_each_other_share_nothing(embeds: str, home: Path) -> None:
    facts = {"first": "It is the first.", "third": "It is the third."}
    served = Endpoint(lambda request: extracts(request, facts))
    done = run(TWO, home, stdin=f"{embeds}\n", OPENAI_BASE_URL=f"{served.url}/v1")
    served.close()
    assert done.returncode == 0, done.stderr
    (one, other), (later,), left = map(json.loads, done.stdout.splitlines())
    assert "first" in one and "third" not in one and "third" in other and "first" not in other
    assert "first" in later and "third" in later and left == []
