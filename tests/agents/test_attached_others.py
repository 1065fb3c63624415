"""Projects attached to agents that have one settings file for the user and for all."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benches import node_directory
from real_agents import STUCK, npm_installed

from pmem.agents.play_model import FINISHED, PlayModel
from pmem.agents.trial import TRIALS
from pmem.core.decision import HEADER

pytestmark = pytest.mark.slow

PMEM = (sys.executable, "-m", "pmem")
PACKAGES = {"gemini": "@google/gemini-cli", "qwen": "@qwen-code/qwen-code"}
BUILD = "sh build.sh"


@pytest.mark.parametrize("agent", PACKAGES)
def test_the_bare_agent_gets_its_reminder_and_detached_its_settings_name_pmem_no_more(
    agent: str, outside: Path, short_dir: Path
) -> None:
    program = npm_installed(PACKAGES[agent], TRIALS[agent].tested[0], agent)
    home, project = outside / "home", outside / "project"
    home.mkdir()
    project.mkdir()
    (project / "build.sh").write_text("echo 'main.c:3: error: db.h is missing' >&2\nexit 3\n")
    with PlayModel([BUILD, BUILD, "cat build.sh", BUILD]) as model:
        setting = TRIALS[agent].prepare(home, project, model.url)
        env = {
            "HOME": str(home),
            "PATH": f"{program.parent}:{node_directory()}:/usr/local/bin:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(short_dir),
            "TERM": "xterm-256color",
            **setting.env,
        }

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                words,
                cwd=project,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=STUCK,
            )

        run("git", "init", "-q")
        run("git", "add", "build.sh")
        run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
        before = {project / "build.sh"}
        assert run(*PMEM, "attach", agent).returncode == 0
        assert run("git", "status", "--porcelain", "-uall").stdout == ""
        done = run(str(program), *setting.args)
        assert (done.returncode, FINISHED in done.stdout) == (0, True)
    counts = [json.dumps(body, ensure_ascii=False).count(HEADER) for body in model.asked]
    assert counts == [0, 0, 0, 0, 1]
    end = time.monotonic() + STUCK
    while (short_dir / "pmem").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    assert run(*PMEM, "detach", agent).returncode == 0
    left = {path for path in project.rglob("*") if not re.search(r"/\.(git|pmem)(/|$)", str(path))}
    if agent == "qwen":  # it writes a version of its own into the settings it finds
        left -= {project / ".qwen", project / ".qwen" / "settings.json"}
        assert "hooks" not in json.loads((project / ".qwen" / "settings.json").read_text())
    assert left == before
