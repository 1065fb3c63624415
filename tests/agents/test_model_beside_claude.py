"""Claude Code and a model of memory beside it, each on a server of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Sent, anthropic_answer
from real_agents import Bench, Model, Screen
from whole_runs import PMEM

pytestmark = pytest.mark.slow

FACT = "db.h belongs to libdb-dev, which is not installed (step 2)."
TOLD = "make build failed for want of db.h, which belongs to libdb-dev."
GUESS = ("memory_save_knowledge", {"id": "guess", "content": "db.h may lie in include/."})
#: What is kept once the build has failed: each of the four tools once.
KEPT = (
    ("memory_update_status", {"content": "The build lacks a header."}),
    ("memory_save_knowledge", {"id": "libdb", "content": FACT, "tags": ["cause"]}),
    ("memory_save_procedural", {"id": "include", "content": "Not in include/.", "outcome": "no"}),
    ("memory_delete", {"id": "guess"}),
)


class Memory:
    """The model of memory: it guesses, learns better, and reminds of it once.

    `spoken` is a file that is there from then on. `compacting` says how many requests the agent's
    model had got when memory was asked before a compaction.
    """

    def __init__(self, spoken: Path) -> None:
        self.spoken = spoken
        self.played: Model | None = None
        self.compacting: list[int] = []

    def __call__(self, request: Any) -> Sent:
        said = json.dumps(request["messages"], ensure_ascii=False)
        failed = "db.h: No such file" in said
        if "about to be replaced by a summary" in said and self.played is not None:
            self.compacting.append(len(self.played.log.read_text().splitlines()))
        if "Now decide" in said:
            if not failed or "Reminders so far" in said or self.spoken.exists():
                return anthropic_answer("<no_intervention/>")
            self.spoken.touch()
            return anthropic_answer(
                f'<context_for_action entries="libdb">{TOLD}</context_for_action>'
            )
        if failed and "[libdb]" not in said:
            return anthropic_answer("", *KEPT)
        return anthropic_answer("", GUESS) if not failed else anthropic_answer("<no_intervention/>")


@pytest.fixture
def memory(outside: Path) -> Memory:
    return Memory(outside / "spoken")


@pytest.fixture
def remembering(memory: Memory) -> Iterator[Endpoint]:
    """The memory's server."""
    endpoint = Endpoint(memory)
    yield endpoint
    endpoint.close()


def headless(bench: Bench, words: Sequence[str], env: dict[str, str], request: Any) -> str:
    """What Claude Code says to "build it", printed."""
    return bench.run([*words, "-p", "build it", "--allowedTools", "Bash"], env).stdout


def on_its_screen(bench: Bench, words: Sequence[str], env: dict[str, str], request: Any) -> str:
    """The same, asked and seen on its own screen."""
    shown: Screen = request.getfixturevalue("screen")(
        bench, [*words, "--permission-mode", "default", "--allowedTools", "Bash"], env
    )
    shown.wait("? for shortcuts")
    shown.enter("build it")
    seen = shown.wait("It needs libdb-dev.")
    shown.enter("/exit")
    shown.wait("EXIT=0")
    return seen


@pytest.mark.parametrize("ask", [headless, on_its_screen])
@pytest.mark.parametrize(("mode", "requests"), [("sync", [0, 1, 1, 1]), ("async", [0, 0, 1, 1])])
def test_the_bank_is_edited_and_the_reminder_reaches_the_next_request(
    mode: str,
    requests: list[int],
    ask: Callable[..., str],
    claude: Callable[..., Bench],
    model: Callable[[Sequence[Any]], Model],
    memory: Memory,
    remembering: Endpoint,
    request: pytest.FixtureRequest,
) -> None:
    until = f"for n in $(seq 600); do [ -e {memory.spoken} ] && break; sleep 0.1; done"
    played = model(
        [
            {"shell": "make build"},
            {"shell": f"{until}; sleep 3"},
            {"shell": "ls"},
            {"text": "It needs libdb-dev."},
        ]
    )
    bench = claude(played)
    env = {"PMEM_MODEL": "anthropic:memory", "PMEM_BASE_URL": remembering.url}
    seen = ask(bench, [*PMEM, "--yes", "--mode", mode, "claude"], env, request)
    assert "It needs libdb-dev." in seen
    if ask is on_its_screen:
        assert f"[MEMORY REMINDER] {TOLD}" in " ".join(seen.split())
    assert [body.count(TOLD) for body in played.bodies()] == requests
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    assert listed["status"] == "The build lacks a header."
    assert [(e["id"], e["content"]) for e in listed["knowledge"]] == [("libdb", FACT)]
    assert "Not in include/." in [e["content"] for e in listed["procedural"]]
    assert all("memory_update_status" in json.dumps(r["tools"]) for r in remembering.requests)


def test_what_a_compaction_drops_is_asked_for_before_the_agent_sums_it_up(
    claude: Callable[..., Bench],
    model: Callable[[Sequence[Any]], Model],
    memory: Memory,
    remembering: Endpoint,
) -> None:
    played = memory.played = model([{"shell": "make build"}, {"text": "No."}])
    bench = claude(played)
    bench.run([*PMEM, "claude", "-p", "build it", "--allowedTools", "Bash"])
    before = len(played.log.read_text().splitlines())
    bench.run(
        [*PMEM, "--yes", "--mode", "sync", "claude", "-c", "-p", "/compact"],
        {"PMEM_MODEL": "anthropic:memory", "PMEM_BASE_URL": remembering.url},
    )
    assert memory.compacting == [before]
    assert len(played.log.read_text().splitlines()) > before
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    assert ("libdb", FACT) in [(e["id"], e["content"]) for e in listed["knowledge"]]
