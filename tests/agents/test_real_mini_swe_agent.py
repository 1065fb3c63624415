"""`pmem run mini` beside mini-swe-agent alone: what it prints and what it keeps is the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_table import AGENTS
from benches import maker
from real_agents import Bench, Model
from whole_runs import BUILDS, PMEM, counts, place

pytestmark = pytest.mark.slow

(MINI,) = [agent for agent in AGENTS if agent.name == "mini"]


def trajectory(bench: Bench) -> str:
    """What mini itself kept of its run."""
    (file,) = bench.home.rglob("last_mini_run.traj.json")
    return file.read_text()


def test_without_holds_its_output_and_its_trajectory_are_as_without_pmem(
    model: Callable[[Sequence[Any]], Model], outside: Path
) -> None:
    mini, script = maker("mini", outside), MINI.play(*BUILDS, {"shell": "echo on"})
    bare = mini(model(script), "bare")
    without = bare.run([str(bare.program), *MINI.headless])
    played = model(script)
    bench = mini(played, "pmem")
    done = bench.run([*PMEM, "run", "--hold", "never", "mini", *MINI.headless])
    assert (done.returncode, done.stderr) == (without.returncode, without.stderr)
    assert done.stdout == without.stdout.replace("/bare/", "/pmem/")
    assert counts(played) == [0, 0, 0, 0, 1, 0]
    request = played.requests()[4]
    assert place(request) == request["body"]["messages"][-1]["role"] == "user"
    kinds = [json.loads(trajectory(b))["info"]["config"] for b in (bare, bench)]
    for kind in ("agent_type", "model_type", "environment_type"):
        assert kinds[0][kind] == kinds[1][kind]
    assert "MEMORY" not in trajectory(bench)
