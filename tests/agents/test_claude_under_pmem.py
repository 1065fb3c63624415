"""`pmem claude`, whole: the real Claude Code, the session process, the rules, the bank."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from real_agents import STUCK, Bench, Model, Screen

from pmem.core.decision import HEADER

pytestmark = pytest.mark.slow

PMEM = (sys.executable, "-m", "pmem")
#: A build that fails twice alike, something else, the same build proposed again.
SCRIPT = [
    *({"shell": "make build"}, {"shell": "make build"}, {"shell": "cat Makefile"}),
    *({"shell": "make build"}, {"text": "It does not build."}),
]
ARGS = ("-p", "build it", "--allowedTools", "Bash")

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]


def counts(played: Model) -> list[int]:
    """How often each request to the model holds a reminder."""
    return [body.count(HEADER) for body in played.bodies()]


def bank(bench: Bench) -> dict[str, Any]:
    """The project's bank, as `pmem bank list --json` tells it."""
    listed: dict[str, Any] = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    return listed


def test_the_third_identical_build_is_put_back_with_the_reminder_once(
    model: StartModel, claude: MakeBench
) -> None:
    bare = claude(model(SCRIPT), "bare")
    without = bare.run([str(bare.program), *ARGS])
    played = model(SCRIPT)
    bench = claude(played, "pmem")
    done = bench.run([*PMEM, "claude", *ARGS])
    assert (done.returncode, done.stdout) == (without.returncode, without.stdout)
    assert (done.stderr, without.stderr) == ("", "")
    assert counts(played) == [0, 0, 0, 0, 1]
    (build,) = [e for e in bank(bench)["procedural"] if e["command"] == "make build"]
    assert (build["attempts"], build["exit_code"], build["outcome"]) == (2, 2, "failed")
    assert "db.h: No such file or directory" in build["output"]


def test_without_holds_the_reminder_comes_with_the_builds_result(
    model: StartModel, claude: MakeBench
) -> None:
    played = model(SCRIPT)
    bench = claude(played)
    done = bench.run([*PMEM, "run", "--hold", "never", "claude", *ARGS])
    assert done.stdout.startswith("It does not build.")
    assert counts(played) == [0, 0, 0, 0, 1]
    (build,) = [e for e in bank(bench)["procedural"] if e["command"] == "make build"]
    assert build["attempts"] == 3


def test_put_back_once_the_same_build_goes_through(model: StartModel, claude: MakeBench) -> None:
    again = [*SCRIPT[:4], {"shell": "make build"}, {"text": "It does not build."}]
    played = model(again)
    bench = claude(played)
    bench.run([*PMEM, "claude", *ARGS])
    assert counts(played) == [0, 0, 0, 0, 1, 1]
    (build,) = [e for e in bank(bench)["procedural"] if e["command"] == "make build"]
    assert build["attempts"] == 3


def test_a_change_in_between_means_silence(model: StartModel, claude: MakeBench) -> None:
    fixed = [*SCRIPT[:2], {"shell": "touch db.h"}, *SCRIPT[3:]]
    played = model(fixed)
    claude(played).run([*PMEM, "claude", *ARGS])
    assert set(counts(played)) == {0}


def test_a_stream_of_json_begins_and_ends_as_without_pmem(
    model: StartModel, claude: MakeBench
) -> None:
    script = [{"shell": "make build"}, {"text": "It does not build."}]
    args = (*ARGS, "--output-format", "stream-json", "--verbose")
    bare, bench = claude(model(script), "bare"), claude(model(script), "pmem")
    kinds = [
        [(row["type"], row.get("subtype")) for row in map(json.loads, out.splitlines())]
        for out in (
            bare.run([str(bare.program), *args]).stdout,
            bench.run([*PMEM, "claude", *args]).stdout,
        )
    ]
    assert kinds[0] == kinds[1]
    assert kinds[0][0] == ("system", "init")


def test_the_same_files_are_left_behind_as_without_pmem(
    model: StartModel, claude: MakeBench
) -> None:
    def left(bench: Bench) -> set[str]:
        ours = re.compile(r"project/\.pmem/|home/\.local/state/pmem/")
        names = {name for name in bench.files() if not ours.match(name)}
        # Ids, times and the project's own path stand in some of the names.
        return {re.sub(r"[0-9a-f-]{8,}|-(bare|pmem)-|\d+", "*", name) for name in names}

    bare, bench = claude(model(SCRIPT), "bare"), claude(model(SCRIPT), "pmem")
    bare.run([str(bare.program), *ARGS])
    bench.run([*PMEM, "claude", *ARGS])
    assert left(bench) == left(bare)


def test_with_its_session_process_killed_the_agent_goes_on(
    model: StartModel, claude: MakeBench
) -> None:
    played = model([{"shell": "touch here; sleep 2"}, *SCRIPT])
    bench = claude(played)
    with subprocess.Popen(
        [*PMEM, "claude", *ARGS],
        cwd=bench.project,
        env=bench.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as pmem:
        end = time.monotonic() + STUCK
        while not (bench.project / "here").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        (session,) = session_processes(pmem.pid)
        os.kill(session, signal.SIGKILL)
        out, err = pmem.communicate(timeout=STUCK)
    assert pmem.returncode == 0
    assert out.startswith("It does not build.")
    assert err == ""
    assert set(counts(played)) == {0}


def session_processes(parent: int) -> list[int]:
    """The children of a pmem that are pmem themselves."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, ppid, args in rows if int(ppid) == parent and "-m pmem" in args]


def test_on_its_screen_the_banner_is_seen(
    model: StartModel, claude: MakeBench, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    bench = claude(played)
    allowed = ("--permission-mode", "default", "--allowedTools", "Bash(make:*)", "Bash(cat:*)")
    shown = screen(bench, [*PMEM, "claude", *allowed])
    shown.wait("? for shortcuts")
    shown.enter("build it")
    seen = shown.wait("It does not build.")
    assert "says: [MEMORY REMINDER] `make build` failed twice alike" in seen
    assert "make-build (steps 2, 3)" in seen
    shown.enter("/exit")
    ended = shown.wait("EXIT=0")
    assert ".pmem/bank.toml" in ended
    assert counts(played)[-1] == 1
