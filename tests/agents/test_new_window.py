"""`/clear` on the agents' own screens: a trajectory of its own follows, on the same bank."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_table import AGENTS, Agent
from benches import maker
from real_agents import STUCK, Model, Screen

from pmem.core.decision import HEADER

pytestmark = pytest.mark.slow

PMEM = (sys.executable, "-m", "pmem")
#: Both windows play it from the start.
SCRIPT = [{"shell": "make build"}, {"shell": "make build"}, {"text": "Stopped."}]


@pytest.mark.parametrize(
    "agent",
    [agent for agent in AGENTS if agent.name in ("claude", "codex")],
    ids=lambda agent: agent.name,
)
def test_after_clear_nothing_of_the_window_before_is_repeated(
    agent: Agent,
    model: Callable[[Sequence[Any]], Model],
    screen: Callable[..., Screen],
    outside: Path,
) -> None:
    played = model(SCRIPT)
    bench = maker(agent.name, outside)(played)
    shown = screen(bench, [*PMEM, agent.name, *agent.on_screen])
    shown.wait(agent.ready)
    time.sleep(2)  # what is typed at once, some take before their hooks are up
    shown.enter("build it")
    shown.wait("Stopped.")
    shown.enter("/clear")
    end = time.monotonic() + STUCK
    while "Stopped." in shown.text():
        assert time.monotonic() < end, shown.text()
        time.sleep(0.1)
    time.sleep(1)
    shown.enter("build it again")
    shown.wait("Stopped.")
    shown.enter(agent.leave)
    shown.wait("EXIT=0")
    log = bench.run([*PMEM, "log", "--json"])
    assert log.stdout, (log.stderr, bench.troubles())
    told = [json.loads(line) for line in log.stdout.splitlines()]
    assert [step["step"] for step in told] == [1, 2, 3, 4, 5, 6]
    assert [step["action"] for step in told if step["kind"] == "command"] == ["make build"] * 4
    assert HEADER not in "".join(played.bodies())
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    (build,) = [entry for entry in listed["procedural"] if entry["command"] == "make build"]
    assert build["attempts"] == 4
