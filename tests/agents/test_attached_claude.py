"""A project attached to Claude Code, which is then started without pmem."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import STUCK, Bench, Model, Screen

from pmem.core.decision import HEADER
from pmem.hook.attached import is_agent

pytestmark = pytest.mark.slow

PMEM = (sys.executable, "-m", "pmem")
SCRIPT = [
    *({"shell": "make build"}, {"shell": "make build"}, {"shell": "cat Makefile"}),
    *({"shell": "make build"}, {"text": "It does not build."}),
]
ARGS = ("-p", "build it", "--allowedTools", "Bash")

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]


@pytest.fixture
def attached(claude: MakeBench, short_dir: Path) -> Iterator[Callable[[Model], Bench]]:
    """A bench whose project is a clean repository, attached to Claude Code."""
    benches: list[Bench] = []

    def bench(model: Model, name: str = "a") -> Bench:
        made = claude(model, name)
        made.env["XDG_RUNTIME_DIR"] = str(short_dir)
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
            done = made.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words])
            assert done.returncode == 0, done.stderr
        assert made.run([*PMEM, "attach", "claude"]).returncode == 0
        benches.append(made)
        return made

    yield bench
    for made in benches:
        assert nothing_left(made)


def nothing_left(bench: Bench) -> bool:
    """Whether the sessions of a bench end, and their sockets go."""
    runtime = Path(bench.env["XDG_RUNTIME_DIR"]) / "pmem"
    end = time.monotonic() + STUCK
    while runtime.exists():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def counts(played: Model) -> list[int]:
    return [body.count(HEADER) for body in played.bodies()]


def steps(bench: Bench) -> list[dict[str, Any]]:
    assert nothing_left(bench)
    out = bench.run([*PMEM, "log", "--json"]).stdout
    return [json.loads(line) for line in out.splitlines()]


def status(bench: Bench) -> str:
    return bench.run(["git", "status", "--porcelain", "--untracked-files=all"]).stdout


def test_the_bare_agent_gets_its_reminder_and_its_steps_are_recorded_from_the_first_event(
    model: StartModel, attached: MakeBench
) -> None:
    played = model(SCRIPT)
    bench = attached(played)
    assert status(bench) == ""
    done = bench.run([str(bench.program), *ARGS])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("It does not build.")
    assert counts(played) == [0, 0, 0, 0, 1]
    told = [(step["kind"], step["action"] or step["observation"]) for step in steps(bench)]
    assert told == [
        *(("user", "build it"), ("command", "make build"), ("command", "make build")),
        ("command", "cat Makefile"),
    ]
    assert status(bench) == ""


def test_under_pmem_each_event_is_told_once_though_the_project_is_attached(
    model: StartModel, attached: MakeBench
) -> None:
    played = model(SCRIPT)
    bench = attached(played)
    bench.run([*PMEM, "claude", *ARGS])
    assert counts(played) == [0, 0, 0, 0, 1]
    assert len(steps(bench)) == 4
    ids = [s["id"] for s in json.loads(bench.run([*PMEM, "status", "--json"]).stdout)["sessions"]]
    assert len(ids) == 1


def test_two_agents_side_by_side_have_a_session_each_and_one_bank(
    model: StartModel, attached: MakeBench
) -> None:
    bench = attached(model(SCRIPT))
    both = [
        subprocess.Popen(
            [str(bench.program), *ARGS],
            cwd=bench.project,
            env=bench.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    assert [one.wait(STUCK) for one in both] == [0, 0]
    for one in both:
        one.communicate()
    assert nothing_left(bench)
    sessions = json.loads(bench.run([*PMEM, "status", "--json"]).stdout)["sessions"]
    assert [session["steps"] for session in sessions] == [4, 4]
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    (build,) = [e for e in listed["procedural"] if e["command"] == "make build"]
    assert build["attempts"] == 4


def test_with_pmem_removed_the_agent_works_on_and_says_nothing_of_it(
    model: StartModel, attached: MakeBench
) -> None:
    bench = attached(model(SCRIPT))
    local = bench.project / ".claude" / "settings.local.json"
    whole = local.read_text()
    for gone in (sys.executable, "/pmem/hook/attached.py"):
        local.write_text(whole.replace(gone, "/gone" + gone))
        done = bench.run([str(bench.program), *ARGS])
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("It does not build.")
    local.write_text(whole)
    assert bench.run([*PMEM, "detach", "claude"]).returncode == 0
    assert not local.parent.exists()
    assert status(bench) == ""


def test_switched_off_it_leaves_the_agent_alone(model: StartModel, attached: MakeBench) -> None:
    played = model(SCRIPT)
    bench = attached(played)
    bench.run([str(bench.program), *ARGS], {"PMEM": "off"})
    assert set(counts(played)) == {0}
    assert not (bench.project / ".pmem").exists()


def session_process(agent: int, bench: Bench) -> int:
    """The session process bound to an agent, found by what it was started with."""
    end = time.monotonic() + STUCK
    while True:
        listed = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True
        )
        for row in listed.stdout.splitlines():
            pid, _, args = row.strip().partition(" ")
            if "pmem.session.detached" in args and f" claude {agent} " in args:
                return int(pid)
        assert time.monotonic() < end
        time.sleep(0.05)


def test_with_its_session_killed_the_agent_goes_on_and_gets_a_new_one(
    model: StartModel, attached: MakeBench
) -> None:
    played = model([{"shell": "touch here; sleep 3"}, *SCRIPT])
    bench = attached(played)
    with subprocess.Popen(
        [str(bench.program), *ARGS],
        cwd=bench.project,
        env=bench.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as agent:
        end = time.monotonic() + STUCK
        while not (bench.project / "here").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        os.kill(session_process(agent.pid, bench), signal.SIGKILL)
        out, err = agent.communicate(timeout=STUCK)
    assert (agent.returncode, err) == (0, "")
    assert out.startswith("It does not build.")
    assert counts(played)[-1] == 1


def test_an_agent_killed_takes_its_session_along(model: StartModel, attached: MakeBench) -> None:
    bench = attached(model([{"shell": "touch here; sleep 30"}, {"text": "Done."}]))
    agent = subprocess.Popen(
        [str(bench.program), *ARGS],
        cwd=bench.project,
        env=bench.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    end = time.monotonic() + STUCK
    while not (bench.project / "here").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert is_agent(agent.pid, "claude")
    agent.kill()
    agent.wait()
    assert nothing_left(bench)


def test_on_its_screen_the_banner_is_seen(
    model: StartModel, attached: MakeBench, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    bench = attached(played)
    allowed = ("--permission-mode", "default", "--allowedTools", "Bash(make:*)", "Bash(cat:*)")
    shown = screen(bench, [str(bench.program), *allowed])
    shown.wait("? for shortcuts")
    shown.enter("build it")
    seen = shown.wait("It does not build.")
    assert "says: [MEMORY REMINDER] `make build` failed twice alike" in seen
    shown.enter("/exit")
    shown.wait("EXIT=0")
    assert counts(played)[-1] == 1


def test_a_foreign_memory_directory_is_left_alone(model: StartModel, attached: MakeBench) -> None:
    played = model(SCRIPT)
    bench = attached(played)
    (bench.project / ".pmem").mkdir()
    (bench.project / ".pmem" / "theirs").write_text("x")
    done = bench.run([str(bench.program), *ARGS])
    assert done.stdout.startswith("It does not build.")
    assert [p.name for p in (bench.project / ".pmem").iterdir()] == ["theirs"]
    left = Path(bench.env["XDG_RUNTIME_DIR"]) / "pmem"
    assert not left.exists() or not list(left.iterdir())
