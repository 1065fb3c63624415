"""The hook of an attached project: the first event starts the session, every event arrives once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pmem.hook.attached import agent_process, ancestors, is_agent
from pmem.hook.line import attached_command

PMEM = (sys.executable, "-m", "pmem")
#: Seconds after which a session counts as stuck.
STUCK = 60


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


@pytest.fixture
def env(home: Path, short_dir: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(short_dir)}


def payload(n: int) -> str:
    """What Claude Code tells of a command that passed."""
    told: dict[str, Any] = {
        "session_id": "s",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"make target{n}"},
        "tool_use_id": f"t{n}",
        "tool_response": {"stdout": "x" * 300_000 if n == 0 else "ok", "stderr": ""},
    }
    return json.dumps(told)


def play(project: Path, env: dict[str, str], script: str) -> None:
    """A program called claude that runs a script, in which $HOOK tells what stands on stdin."""
    program = project.parent / "claude"
    if not program.exists():
        program.symlink_to("/bin/bash")
    for n in range(20):
        (project.parent / f"{n}.json").write_text(payload(n))
    subprocess.run(
        [program, "-c", script + "\ntrue"],  # more than one command: bash stays what it is
        cwd=project,
        env={**env, "HOOK": attached_command("claude"), "P": str(project.parent)},
        check=True,
        timeout=STUCK,
    )
    end = time.monotonic() + STUCK
    while (Path(env["XDG_RUNTIME_DIR"]) / "pmem").exists():
        assert time.monotonic() < end, "the session outlives its agent"
        time.sleep(0.05)


def sessions(project: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    out = subprocess.run(
        [*PMEM, "status", "--json"], cwd=project, env=env, capture_output=True, text=True
    ).stdout
    found: list[dict[str, Any]] = json.loads(out)["sessions"]
    return found


def actions(project: Path, env: dict[str, str]) -> list[str]:
    out = subprocess.run(
        [*PMEM, "log", "--json"], cwd=project, env=env, capture_output=True, text=True
    ).stdout
    return [json.loads(line)["action"] for line in out.splitlines()]


def test_events_in_a_row_arrive_in_their_order_the_long_first_one_too(
    project: Path, env: dict[str, str]
) -> None:
    play(project, env, 'for n in 0 1 2 3 4 5; do /bin/sh -c "$HOOK" <$P/$n.json; done; sleep 1')
    assert actions(project, env) == [f"make target{n}" for n in range(6)]


def test_of_many_first_events_at_once_one_starts_the_session_and_none_is_lost(
    project: Path, env: dict[str, str]
) -> None:
    each = 'for n in {0..19}; do /bin/sh -c "$HOOK" <$P/$n.json & done; wait; sleep 1'
    play(project, env, each)
    assert len(sessions(project, env)) == 1
    assert sorted(actions(project, env)) == sorted(f"make target{n}" for n in range(20))


def test_where_pmem_runs_the_agent_or_is_off_the_hook_is_silent(
    project: Path, env: dict[str, str]
) -> None:
    for said in ("PMEM_HOOKED=claude", "PMEM=off"):
        play(project, env, f'{said} /bin/sh -c "$HOOK" <$P/1.json; sleep 0.5')
    assert sessions(project, env) == []
    assert list(project.iterdir()) == []


def test_a_project_without_memory_leaves_no_sign_behind_its_agent(
    project: Path, env: dict[str, str]
) -> None:
    (project / ".pmem").mkdir()
    (project / ".pmem" / "theirs").write_text("another tool's")
    end = json.dumps({"session_id": "s", "hook_event_name": "SessionEnd", "reason": "other"})
    signs = 'while [ ! -e "$XDG_RUNTIME_DIR"/pmem/a*/off ]; do sleep 0.1; done'
    hook = '/bin/sh -c "$HOOK"'
    play(project, env, f"{hook} <$P/1.json; {signs}; {hook} <$P/2.json; echo '{end}' | {hook}")
    assert [p.name for p in (project / ".pmem").iterdir()] == ["theirs"]


def test_the_agent_is_found_among_the_processes_above(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.symlink_to("/bin/bash")
    with subprocess.Popen(
        [program, "-c", "/bin/sh -c 'sleep 60; true'; true"], start_new_session=True
    ) as agent:
        try:
            children: list[int] = []
            end = time.monotonic() + STUCK
            while not children and time.monotonic() < end:
                told = subprocess.run(
                    ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True
                ).stdout
                rows = [row.split() for row in told.splitlines()]
                children = [int(row[0]) for row in rows if row[1] == str(agent.pid)]
                # Between fork and exec the child is still its parent's program.
                children = [child for child in children if not is_agent(child, "claude")]
            below = children[0]
            assert is_agent(agent.pid, "claude") and not is_agent(below, "claude")
            assert ancestors(below)[:3] == [below, agent.pid, os.getpid()]
            assert agent_process(below, "claude") == agent.pid
            assert agent_process(below, "no-such-agent") == below
        finally:
            os.killpg(agent.pid, 9)


@pytest.mark.parametrize("alive", [True, False])
def test_under_pmem_the_agent_is_a_guest_of_that_session_while_it_lives(
    project: Path, env: dict[str, str], alive: bool
) -> None:
    script = '/bin/sh -c "$HOOK" <$P/1.json; /bin/sh -c "$HOOK" <$P/2.json'
    if not alive:
        play(project, {**env, "PMEM_SOCK": "/nowhere/s", "PMEM_TOKEN": "t"}, script)
        assert actions(project, env) == ["make target1", "make target2"]
        return
    (project.parent / "claude").symlink_to("/bin/bash")
    for n in (1, 2):
        (project.parent / f"{n}.json").write_text(payload(n))
    subprocess.run(
        [*PMEM, "run", "--", "/bin/sh", "-c", f"$P/claude -c '{script}; true'; $P/claude -c true"],
        cwd=project,
        env={**env, "HOOK": attached_command("claude"), "P": str(project.parent)},
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=STUCK,
    )
    assert len(sessions(project, env)) == 1
    out = subprocess.run(
        [*PMEM, "log", "--json"], cwd=project, env=env, capture_output=True, text=True
    ).stdout
    steps = [json.loads(line) for line in out.splitlines()]
    assert [step["action"] for step in steps] == ["make target1", "make target2"]
    (lane,) = {step["agent_id"] for step in steps}
    assert lane.startswith("claude-")
