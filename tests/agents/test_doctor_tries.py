"""`pmem doctor` with the real agents: each is verified, and nothing of the user's is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_the_pinned_agent_is_verified_and_nothing_stays(
    agent: str, outside: Path, request: pytest.FixtureRequest
) -> None:
    program: Path = request.getfixturevalue(f"{agent}_program")
    home, project = outside / "home", outside / "project"
    home.mkdir()
    project.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pmem", "doctor", agent, "--json"],
        cwd=project,
        env={"HOME": str(home), "PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    [found] = json.loads(done.stdout)["agents"]
    assert [check for check in found["checks"] if check["ok"] is not True] == []
    assert (found["tier"], done.returncode) == ("verified", 0)
    assert list(project.iterdir()) == []
    assert [p for p in home.rglob("*") if p.is_file()] == []
