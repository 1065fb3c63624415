"""`pmem doctor` with the real agents: each is verified, and nothing of the user's is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benches import node_directory
from real_agents import npm_installed

from pmem.agents.trial import TRIALS

pytestmark = pytest.mark.slow


PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "qwen": "@qwen-code/qwen-code",
    "copilot": "@github/copilot",
    "pi": "@earendil-works/pi-coding-agent",
}


def test_every_agent_with_a_trial_is_tried_here() -> None:
    assert PACKAGES.keys() == TRIALS.keys()


@pytest.mark.parametrize("agent", PACKAGES)
def test_the_pinned_agent_is_verified_and_nothing_stays(agent: str, outside: Path) -> None:
    program = npm_installed(PACKAGES[agent], TRIALS[agent].tested[0], agent)
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
    assert [check for check in found["checks"] if check["ok"] is not True] == []
    assert (found["tier"], done.returncode) == ("verified", 0)
    assert list(project.iterdir()) == []
    assert [p for p in home.rglob("*") if p.is_file()] == []
