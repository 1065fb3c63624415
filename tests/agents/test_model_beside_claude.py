"""Claude Code and a model of memory beside it, each on a server of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import Bench, Model
from whole_runs import PMEM

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from endpoint import Endpoint, Sent, anthropic_answer

pytestmark = pytest.mark.slow

FACT = "db.h belongs to libdb-dev, which is not installed (step 1)."
TOLD = "make build failed for want of db.h, which belongs to libdb-dev."


class Memory:
    """The model of memory: it keeps the fact, and reminds of it once."""

    def __init__(self, spoken: Path) -> None:
        self.spoken = spoken

    def __call__(self, request: Any) -> Sent:
        said = json.dumps(request["messages"], ensure_ascii=False)
        failed = "db.h: No such file" in said
        if "Now decide" in said:
            if not failed or "Reminders so far" in said or self.spoken.exists():
                return anthropic_answer("<no_intervention/>")
            self.spoken.touch()
            return anthropic_answer(
                f'<context_for_action entries="libdb">{TOLD}</context_for_action>'
            )
        if failed and "[libdb]" not in said:
            keep = {"id": "libdb", "content": FACT, "tags": ["cause"]}
            return anthropic_answer("", ("memory_save_knowledge", keep))
        return anthropic_answer("<no_intervention/>")


@pytest.fixture
def remembering(outside: Path) -> Iterator[tuple[Endpoint, Path]]:
    """The memory's server, and the file that is there once it has spoken."""
    spoken = outside / "spoken"
    endpoint = Endpoint(Memory(spoken))
    yield endpoint, spoken
    endpoint.close()


@pytest.mark.parametrize(("mode", "requests"), [("sync", [0, 1, 1, 1]), ("async", [0, 0, 1, 1])])
def test_the_bank_is_edited_and_the_reminder_reaches_the_next_request(
    mode: str,
    requests: list[int],
    claude: Callable[..., Bench],
    model: Callable[[Sequence[Any]], Model],
    remembering: tuple[Endpoint, Path],
) -> None:
    endpoint, spoken = remembering
    until = f"for n in $(seq 600); do [ -e {spoken} ] && break; sleep 0.1; done"
    played = model(
        [
            {"shell": "make build"},
            {"shell": f"{until}; sleep 3"},
            {"shell": "ls"},
            {"text": "It needs libdb-dev."},
        ]
    )
    bench = claude(played)
    done = bench.run(
        [*PMEM, "--yes", "--mode", mode, "claude", "-p", "build it", "--allowedTools", "Bash"],
        {"PMEM_MODEL": "anthropic:memory", "PMEM_BASE_URL": endpoint.url},
    )
    assert "It needs libdb-dev." in done.stdout, done.stderr
    assert [body.count(TOLD) for body in played.bodies()] == requests
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    assert {"id": "libdb", "content": FACT}.items() <= {
        key: listed["knowledge"][0][key] for key in ("id", "content")
    }.items()
    assert all("memory_update_status" in json.dumps(r["tools"]) for r in endpoint.requests)
