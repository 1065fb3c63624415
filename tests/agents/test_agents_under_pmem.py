"""`pmem AGENT`, whole: the real agent CLI, the session process, the rules, the bank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from real_agents import STUCK, Bench, Model, Screen
from whole_runs import INSISTING, PMEM, SCRIPT, attempts, counts, left

pytestmark = pytest.mark.slow

StartModel = Callable[[Sequence[Any]], Model]


@dataclass(frozen=True)
class Agent:
    """How an agent is asked to work without a terminal, and on its screen.

    `ready` is what its screen shows when it takes a prompt, `seen` how a banner looks there,
    `leave` what ends it.
    """

    name: str
    headless: tuple[str, ...]
    on_screen: tuple[str, ...]
    ready: str
    seen: str
    leave: str

    def bare(self, bench: Bench) -> tuple[str, ...]:
        """The command line without pmem."""
        return (str(bench.program), *self.headless)


CLAUDE = Agent(
    "claude",
    ("-p", "build it", "--allowedTools", "Bash"),
    ("--permission-mode", "default", "--allowedTools", "Bash(make:*)", "Bash(cat:*)"),
    "? for shortcuts",
    "says: [MEMORY REMINDER] `make build` failed twice alike",
    "/exit",
)
UNBOUND = "--dangerously-bypass-approvals-and-sandbox"
CODEX = Agent(
    "codex",
    ("exec", "--skip-git-repo-check", UNBOUND, "build it"),
    (UNBOUND,),
    "Ask Codex to do anything",
    "[MEMORY REMINDER] `make build` failed twice alike",
    "/quit",
)
GEMINI = Agent(
    "gemini",
    ("-m", "gemini-2.5-pro", "--yolo", "-p", "build it"),
    ("-m", "gemini-2.5-pro", "--yolo"),
    "Type your message",
    "[MEMORY REMINDER] make build failed twice alike",  # it shows Markdown
    "/quit",
)


@pytest.fixture(params=[CLAUDE, CODEX, GEMINI], ids=lambda agent: agent.name)
def agent(request: pytest.FixtureRequest) -> Agent:
    """Each agent in turn."""
    chosen: Agent = request.param
    return chosen


@pytest.fixture
def bench(agent: Agent, request: pytest.FixtureRequest) -> Callable[..., Bench]:
    """Makes a bench of this agent."""
    maker: Callable[..., Bench] = request.getfixturevalue(agent.name)
    return maker


def test_the_third_identical_build_is_put_back_with_the_reminder_once(
    agent: Agent, bench: Callable[..., Bench], model: StartModel
) -> None:
    bare = bench(model(SCRIPT), "bare")
    without = bare.run(agent.bare(bare))
    played = model(SCRIPT)
    remembering = bench(played, "pmem")
    done = remembering.run([*PMEM, agent.name, *agent.headless])
    assert (done.returncode, done.stdout) == (without.returncode, without.stdout)
    assert counts(played) == [0, 0, 0, 0, 1]
    entry = attempts(remembering)
    assert (entry["attempts"], entry["exit_code"], entry["outcome"]) == (2, 2, "failed")
    assert "db.h: No such file or directory" in entry["output"]


def test_without_holds_the_reminder_comes_with_the_builds_result(
    agent: Agent, bench: Callable[..., Bench], model: StartModel
) -> None:
    played = model(SCRIPT)
    remembering = bench(played)
    done = remembering.run([*PMEM, "run", "--hold", "never", agent.name, *agent.headless])
    assert "It does not build." in done.stdout
    assert counts(played) == [0, 0, 0, 0, 1]
    assert attempts(remembering)["attempts"] == 3


def test_put_back_once_the_same_build_goes_through(
    agent: Agent, bench: Callable[..., Bench], model: StartModel
) -> None:
    played = model(INSISTING)
    remembering = bench(played)
    remembering.run([*PMEM, agent.name, *agent.headless])
    assert counts(played) == [0, 0, 0, 0, 1, 1]
    assert attempts(remembering)["attempts"] == 3


def test_after_a_change_the_build_is_not_put_back(
    agent: Agent, bench: Callable[..., Bench], model: StartModel
) -> None:
    played = model([*SCRIPT[:2], {"shell": "touch db.h"}, *SCRIPT[3:]])
    remembering = bench(played)
    remembering.run([*PMEM, agent.name, *agent.headless])
    assert counts(played)[:4] == [0, 0, 0, 0]
    assert attempts(remembering)["attempts"] == 3


def test_the_same_files_are_left_behind_as_without_pmem(
    agent: Agent, bench: Callable[..., Bench], model: StartModel
) -> None:
    bare, remembering = bench(model(SCRIPT), "bare"), bench(model(SCRIPT), "pmem")
    bare.run(agent.bare(bare))
    remembering.run([*PMEM, agent.name, *agent.headless])
    # Codex may end before its databases are tidied up, with pmem or without.
    tidied = ("-wal", "-shm")
    names = [{n for n in left(one) if not n.endswith(tidied)} for one in (remembering, bare)]
    assert names[0] == names[1]


def test_with_its_session_process_killed_the_agent_goes_on(
    agent: Agent, bench: Callable[..., Bench], model: StartModel
) -> None:
    played = model([{"shell": "touch here; sleep 2"}, *SCRIPT])
    remembering = bench(played)
    with subprocess.Popen(
        [*PMEM, agent.name, *agent.headless],
        cwd=remembering.project,
        env=remembering.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as pmem:
        end = time.monotonic() + STUCK
        while not (remembering.project / "here").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        (session,) = session_processes(pmem.pid)
        os.kill(session, signal.SIGKILL)
        out, err = pmem.communicate(timeout=STUCK)
    assert pmem.returncode == 0
    assert "It does not build." in out
    assert "Traceback" not in err and "hook error" not in err.lower()
    assert set(counts(played)) == {0}


def session_processes(parent: int) -> list[int]:
    """The children of a pmem that are pmem themselves."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, ppid, args in rows if int(ppid) == parent and "-m pmem" in args]


def test_on_its_screen_the_banner_is_seen(
    agent: Agent, bench: Callable[..., Bench], model: StartModel, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    shown = screen(bench(played), [*PMEM, agent.name, *agent.on_screen])
    shown.wait(agent.ready)
    time.sleep(2)  # what is typed at once, some take before their hooks are up
    shown.enter("build it")
    seen = shown.wait("It does not build.")
    assert agent.seen in " ".join(seen.split()), seen
    assert "make-build (steps 2, 3)" in seen
    assert counts(played)[-1] == 1
    shown.enter(agent.leave)
    assert ".pmem/bank.toml" in shown.wait("EXIT=0")


def test_a_stream_of_json_from_claude_begins_and_ends_as_without_pmem(
    claude: Callable[..., Bench], model: StartModel
) -> None:
    script = [{"shell": "make build"}, {"text": "It does not build."}]
    stream = ("--output-format", "stream-json", "--verbose")
    bare, remembering = claude(model(script), "bare"), claude(model(script), "pmem")
    kinds = [
        [(row["type"], row.get("subtype")) for row in map(json.loads, out.splitlines())]
        for out in (
            bare.run([*CLAUDE.bare(bare), *stream]).stdout,
            remembering.run([*PMEM, "claude", *CLAUDE.headless, *stream]).stdout,
        )
    ]
    assert kinds[0] == kinds[1]
    assert kinds[0][0] == ("system", "init")
