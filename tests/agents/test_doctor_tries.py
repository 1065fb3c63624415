"""`pmem doctor` with the real agents: each is verified, and nothing of the user's is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benches import PACKAGES, node_directory, program_of

from pmem.agents.trial import TRIALS

pytestmark = pytest.mark.slow


#: Whose own transcripts pmem finds and reads.
READ = ("claude", "codex", "gemini")
#: By the program's name: the name of its adapter where it is another.
NAMES = {"mini": "mini-swe-agent"}


def test_every_agent_with_a_trial_is_tried_here() -> None:
    assert {NAMES.get(agent, agent) for agent in PACKAGES} == TRIALS.keys()


@pytest.mark.parametrize("agent", PACKAGES)
def test_the_pinned_agent_is_verified_and_nothing_stays(agent: str, outside: Path) -> None:
    assert TRIALS[NAMES.get(agent, agent)].tested == (PACKAGES[agent][1],)
    program = program_of(agent)
    home, project = outside / "home", outside / "project"
    home.mkdir()
    project.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pmem", "doctor", agent, "--json"],
        cwd=project,
        env={"HOME": str(home), "PATH": f"{program.parent}:{node_directory()}:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    [found] = json.loads(done.stdout)["agents"]
    not_right = [check["name"] for check in found["checks"] if check["ok"] is not True]
    assert not_right == ([] if agent in READ else ["transcript"]), found
    assert (found["tier"], done.returncode) == ("verified", 0)
    assert list(project.iterdir()) == []
    assert [p for p in home.rglob("*") if p.is_file()] == []
