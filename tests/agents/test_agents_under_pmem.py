"""`pmem AGENT`, whole: the real agent CLIs, the session process, the rules, the bank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_table import AGENTS, Agent
from benches import MakeBench, maker
from real_agents import STUCK, Bench, Model, Screen
from whole_runs import BUILDS, PMEM, attempts, counts, left, place, steps

pytestmark = pytest.mark.slow

StartModel = Callable[[Sequence[Any]], Model]
BUILD = {"shell": "make build"}


@pytest.fixture(params=AGENTS, ids=lambda agent: agent.name)
def agent(request: pytest.FixtureRequest) -> Agent:
    """Each agent in turn."""
    chosen: Agent = request.param
    return chosen


@pytest.fixture
def bench(agent: Agent, outside: Path) -> MakeBench:
    """Makes benches of this agent."""
    return maker(agent.name, outside)


def own(bench: Bench) -> int:
    """How often the user's own hook ran."""
    log = bench.home / "own"
    return log.read_text().count("own") if log.exists() else 0


def test_the_third_identical_build_is_put_back_once_and_nothing_else_changes(
    agent: Agent, bench: MakeBench, model: StartModel
) -> None:
    script = agent.play(*BUILDS, BUILD)
    bare, played = bench(model(script), "bare"), model(script)
    without = bare.run([str(bare.program), *agent.own(bare), *agent.headless])
    remembering = bench(played, "pmem")
    done = remembering.run([*PMEM, agent.name, *agent.own(remembering), *agent.headless])
    assert done.returncode == without.returncode == 0, done.stderr
    if agent.name != "mini":  # it shows what its model is told
        assert done.stdout == without.stdout
    assert "It does not build." in done.stdout
    assert counts(played) == [0, 0, 0, 0, 1, 1]
    assert place(played.requests()[4]).startswith("result")
    assert place(played.requests()[-1]).endswith(("result", "step004a"))
    build = attempts(remembering)
    assert (build["attempts"], build["exit_code"], build["outcome"]) == (3, 2, "failed")
    assert "db.h: No such file or directory" in build["output"]
    ran = [(s["action"], s["exit_code"]) for s in steps(remembering) if s["kind"] == "command"]
    assert ran[:4] == [("make build", 2), ("make build", 2), ("cat Makefile", 0), ("make build", 2)]
    assert left(remembering) == left(bare)
    assert own(remembering) == own(bare) - agent.told_alone


def test_without_holds_the_reminder_comes_with_the_builds_result(
    agent: Agent, bench: MakeBench, model: StartModel
) -> None:
    played = model(agent.play(*BUILDS, {"shell": "echo on"}))
    remembering = bench(played)
    words = [agent.name, *agent.own(remembering), *agent.headless]
    done = remembering.run([*PMEM, "run", "--hold", "never", *words])
    assert own(remembering) == (0 if agent.name == "mini" else 5)
    assert "It does not build." in done.stdout
    assert counts(played) == [0, 0, 0, 0, 1, int(agent.stays)]
    assert place(played.requests()[4]).startswith(agent.beside)
    assert attempts(remembering)["attempts"] == 3


def test_after_a_change_the_build_is_not_put_back(
    agent: Agent, bench: MakeBench, model: StartModel
) -> None:
    played = model(agent.play(*BUILDS[:2], {"shell": "touch db.h"}, BUILD))
    remembering = bench(played)
    remembering.run([*PMEM, agent.name, *agent.headless])
    assert counts(played)[:4] == [0, 0, 0, 0]
    assert attempts(remembering)["attempts"] == 3


def working(shown: Screen, agent: Agent) -> None:
    """Ask the agent on its screen to work."""
    if agent.ready:
        shown.wait(agent.ready)
        time.sleep(2)  # what is typed at once, some take before their hooks are up
        shown.enter("build it")


def leave(shown: Screen, agent: Agent) -> str:
    """End the agent on its screen; the screen after that."""
    if agent.leave.startswith("/"):
        shown.enter(agent.leave)
    else:
        shown.keys(agent.leave)
    return shown.wait("EXIT=0")


def test_on_its_screen_or_in_a_pane_beside_it_the_banner_is_seen(
    agent: Agent, bench: MakeBench, model: StartModel, screen: Callable[..., Screen]
) -> None:
    played = model(agent.play(*BUILDS))
    remembering = bench(played)
    held = () if agent.seen else ("--hold", "never")  # what is put back, those show as an error
    words = [*PMEM, "run", *held, agent.name, *agent.on_screen]
    shown = screen(remembering, words, in_tmux=True)
    working(shown, agent)
    if agent.seen:
        shown.wait(agent.seen, flat=True)
    shown.wait("It does not build.")
    if not agent.seen:
        shown.wait_panes(2)
        shown.wait("[MEMORY REMINDER]", "`make build` failed twice alike", "make-build", pane=1)
    assert shown.panes == (1 if agent.seen else 2)
    assert ".pmem/bank.toml" in leave(shown, agent)
    shown.wait_panes(1)
    assert counts(played)[-1] == 1
    build = attempts(remembering)
    assert (build["attempts"], build["exit_code"]) == (2 if agent.seen else 3, 2)


def test_with_its_session_process_killed_the_agent_goes_on_and_its_screen_says_nothing(
    agent: Agent, bench: MakeBench, model: StartModel, screen: Callable[..., Screen]
) -> None:
    played = model(agent.play({"shell": "touch here; make build; sleep 2"}, *BUILDS))
    remembering = bench(played)
    tools = () if agent.name != "claude" else ("Bash(touch:*)", "Bash(sleep:*)")
    shown = screen(remembering, [*PMEM, "run", agent.name, *agent.on_screen, *tools])
    working(shown, agent)
    end = time.monotonic() + STUCK
    while not (remembering.project / "here").exists():
        assert time.monotonic() < end, shown.text()
        time.sleep(0.05)
    (session,) = session_processes(shown.pid)
    os.kill(session, signal.SIGKILL)
    seen = shown.wait("It does not build.")
    for word in ("MEMORY", "Traceback", "pmem/hook", "hook error", "PMEM_SOCK"):
        assert word not in seen
    assert "memory ended before its time" in leave(shown, agent)
    assert set(counts(played)) == {0}


def session_processes(shell: int) -> list[int]:
    """The session processes of the pmem that a shell runs."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    (pmem,) = [int(pid) for pid, parent, args in rows if int(parent) == shell and "-m pmem" in args]
    return [int(p) for p, parent, args in rows if int(parent) == pmem and "-m pmem" in args]


def test_a_stream_of_json_from_claude_begins_and_ends_as_without_pmem(
    claude: MakeBench, model: StartModel
) -> None:
    script = [BUILD, {"text": "It does not build."}]
    stream = ("-p", "build it", "--allowedTools", "Bash", "--output-format", "stream-json")
    bare, remembering = claude(model(script), "bare"), claude(model(script), "pmem")
    kinds = [
        [(row["type"], row.get("subtype")) for row in map(json.loads, out.splitlines())]
        for out in (
            bare.run([str(bare.program), *stream, "--verbose"]).stdout,
            remembering.run([*PMEM, "claude", *stream, "--verbose"]).stdout,
        )
    ]
    assert kinds[0] == kinds[1]
    assert kinds[0][0] == ("system", "init")


def test_what_claude_prints_into_a_file_of_the_project_is_no_change_of_it(
    claude: MakeBench, model: StartModel
) -> None:
    played = model([*BUILDS, {"text": "It does not build."}])
    bench = claude(played)
    told = "-p 'build it' --allowedTools Bash --output-format stream-json --verbose"
    bench.run(["sh", "-c", f'"$@" {told} > printed.txt', "sh", *PMEM, "claude"])
    assert "It does not build." in (bench.project / "printed.txt").read_text()
    assert counts(played) == [0, 0, 0, 0, 1]
