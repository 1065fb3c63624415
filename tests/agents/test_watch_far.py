"""A watch that a model set at step 3 speaks at step 30 of the real CLIs, and no model is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_table import AGENTS
from benches import maker
from real_agents import Model
from whole_runs import PMEM, counts

pytestmark = pytest.mark.slow

FACT = "AGENTS.md has releases cut from stable; the branch here is main (step 3)."
KEEPS = {"id": "stable", "content": FACT, "when": {"command": "make release*"}}
PLAY = {
    "replies": [
        {
            "phase": "manage",
            "contains": "step 3: command",
            "calls": [{"name": "memory_save_knowledge", "arguments": KEEPS}],
        }
    ]
}
#: The user's words are step 1, the failing build is step 3, the release is step 30.
WORK = [
    *({"shell": "ls"}, {"shell": "make build"}),
    *({"shell": f"touch f{n}"} for n in range(4, 30)),
    {"shell": "make release"},
]


@pytest.mark.parametrize("agent", AGENTS[:3], ids=lambda agent: str(agent.name))
def test_a_watch_of_step_3_is_heard_at_step_30(
    agent: Any, model: Callable[[Sequence[Any]], Model], outside: Path
) -> None:
    played = model(agent.play(*WORK))
    bench = maker(agent.name, outside)(played)
    (bench.home / "play.json").write_text(json.dumps(PLAY))
    env = {"PMEM_MODEL": f"scripted:{bench.home}/play.json", "PMEM_INTERVAL": "1000"}
    bench.run([*PMEM, "--yes", "--mode", "sync", agent.name, *agent.headless], env)

    log = [*PMEM, "log", "--decisions", "--json"]
    decisions = [json.loads(line) for line in bench.run(log).stdout.splitlines()]
    [told] = [d for d in decisions if d["decision"] == "remind"]
    assert (told["reason"], told["before_step"]) == ("watch:stable", 30)
    assert (told["delivery"], told["hold"]) == ("with_result", False)
    assert told["channel"] == f"hook:{agent.name}" and "model" not in told
    asked = [d["asked_at"] for d in decisions if "asked_at" in d]
    assert 3 in asked and not [n for n in asked if 3 < n < 30]
    # the request with the result of step 30 is the first that holds it
    heard = [FACT in body for body in played.bodies()]
    assert heard.index(True) == len(WORK) and counts(played)[: len(WORK)] == [0] * len(WORK)
