"""`pmem attach` on an agent that runs already: listed, followed, and Claude Code reached live."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agent_table import UNBOUND
from benches import MakeBench, maker
from real_agents import STUCK, Bench, Model, Screen

from pmem.core.decision import HEADER

pytestmark = pytest.mark.slow

PMEM = (sys.executable, "-m", "pmem")
#: Ends when a file is there. It changes nothing: a change would make the next failure another one.
UNTIL = "for n in $(seq 600); do [ -e {} ] && break; sleep 0.1; done"


def plain(command: str) -> dict[str, Any]:
    """A command of the script."""
    return {"shell": command}


def patient(command: str) -> dict[str, Any]:
    """A command as Codex's newest models call it, for as long as it takes."""
    given = json.dumps({"cmd": command, "yield_time_ms": 30_000})
    return {"tool": "exec", "args": {"_custom": f"text(await tools.exec_command({given}));"}}


def script(call: Callable[[str], dict[str, Any]] = plain) -> list[dict[str, Any]]:
    """Two alike failures while somebody watches, and time to see the banner before the end."""
    build = {"shell": "make build"}
    first, second = call(f"touch here; {UNTIL.format('go')}"), call(UNTIL.format("seen"))
    return [first, build, build, second, build, {"text": "It does not build."}]


#: Seconds within which Claude Code sees that its settings have changed.
SETTLED = 4
ARGS = ("-p", "build it", "--allowedTools", "Bash")
CODEX_ARGS = ("exec", "--skip-git-repo-check", UNBOUND, "build it")

StartModel = Callable[[Sequence[Any]], Model]


@pytest.fixture
def bench_of(outside: Path) -> Iterator[Callable[[str, Model], Bench]]:
    """Benches in which no command of the script waits for longer than the test."""
    benches = []

    def bench(agent: str, model: Model) -> Bench:
        benches.append(maker(agent, outside)(model))
        return benches[-1]

    yield bench
    for one in benches:
        for name in ("go", "seen"):
            (one.project / name).touch()


@pytest.fixture
def claude(bench_of: Callable[[str, Model], Bench]) -> MakeBench:
    """Benches of Claude Code."""
    return partial(bench_of, "claude")


def running(bench: Bench, args: Sequence[str] = ARGS) -> subprocess.Popen[str]:
    """The bare agent, in the middle of its first command."""
    agent = subprocess.Popen(
        [str(bench.program), *args],
        cwd=bench.project,
        env=bench.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    until(lambda: (bench.project / "here").exists())
    return agent


def until(true: Callable[[], bool], told: Path | None = None) -> None:
    end = time.monotonic() + STUCK
    while not true():
        assert time.monotonic() < end, told.read_text() if told else ""
        time.sleep(0.05)


def test_a_running_agent_is_listed_with_its_directory(model: StartModel, claude: MakeBench) -> None:
    bench = claude(model(script()))
    agent = running(bench)
    try:
        listed = json.loads(bench.run([*PMEM, "attach", "--json"]).stdout)
        (found,) = [one for one in listed if one["pid"] == agent.pid]
        assert (found["agent"], found["cwd"]) == ("claude", str(bench.project))
        assert "pmem attach claude" in found["reached"]
    finally:
        agent.kill()
        agent.communicate()


@pytest.mark.parametrize(
    ("name", "args", "call"),
    [("claude", ARGS, plain), ("codex", CODEX_ARGS, patient)],
    ids=["claude", "codex"],
)
def test_followed_from_outside_the_banner_comes_while_the_agent_still_works(
    name: str,
    args: Sequence[str],
    call: Callable[[str], dict[str, Any]],
    model: StartModel,
    bench_of: Callable[[str, Model], Bench],
) -> None:
    played = model(script(call))
    bench = bench_of(name, played)
    agent = running(bench, args)
    everything = json.loads(bench.run([*PMEM, "attach", "--json"]).stdout)
    (listed,) = [one for one in everything if one["cwd"] == str(bench.project)]
    assert listed["agent"] == name
    out, err = bench.home / "out", bench.home / "err"
    with out.open("w") as stdout, err.open("w") as stderr:
        follower = subprocess.Popen(
            [*PMEM, "attach", "--pid", str(listed["pid"])],
            cwd=bench.project,
            env=bench.env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )
    until(lambda: f"following {name}" in err.read_text(), err)
    (bench.project / "go").touch()
    until(lambda: HEADER in out.read_text(), err)
    assert "`make build` failed twice alike" in " ".join(out.read_text().replace("│", "").split())
    assert agent.poll() is None
    (bench.project / "seen").touch()
    assert agent.communicate(timeout=STUCK)[0].startswith("It does not build.")
    assert follower.wait(STUCK) == 0
    assert HEADER not in "".join(played.bodies())
    told = [json.loads(line) for line in bench.run([*PMEM, "log", "--json"]).stdout.splitlines()]
    assert [step["step"] for step in told] == [1, 2, 3, 4, 5, 6]
    assert [step["exit_code"] for step in told if step["action"] == "make build"] == [2, 2, 2]


def test_attached_in_the_middle_of_a_run_the_reminder_reaches_the_agent(
    model: StartModel, claude: MakeBench
) -> None:
    played = model(script())
    bench = claude(played)
    agent = running(bench)
    assert bench.run([*PMEM, "attach", "claude"]).returncode == 0
    time.sleep(SETTLED)
    (bench.project / "go").touch()
    (bench.project / "seen").touch()
    agent.communicate(timeout=STUCK)
    assert [body.count(HEADER) for body in played.bodies()] == [0, 0, 0, 0, 0, 1]
    until(
        lambda: not json.loads(bench.run([*PMEM, "status", "--json"]).stdout)["sessions"][0]["live"]
    )
    told = [json.loads(line) for line in bench.run([*PMEM, "log", "--json"]).stdout.splitlines()]
    assert [step["kind"] for step in told] == ["user", *["command"] * 4]


def test_on_its_screen_too_settings_are_read_live(
    model: StartModel, claude: MakeBench, screen: Callable[..., Screen]
) -> None:
    played = model(script())
    bench = claude(played)
    allowed = ("--permission-mode", "default", "--allowedTools", "Bash")
    shown = screen(bench, [str(bench.program), *allowed])
    shown.wait("? for shortcuts")
    shown.enter("build it")
    until(lambda: (bench.project / "here").exists())
    assert bench.run([*PMEM, "attach", "claude"]).returncode == 0
    time.sleep(SETTLED)
    (bench.project / "go").touch()
    (bench.project / "seen").touch()
    assert "[MEMORY REMINDER] `make build` failed twice" in shown.wait("It does not build.")
    shown.enter("/exit")
    shown.wait("EXIT=0")
    assert os.path.exists(bench.project / ".pmem")  # noqa: PTH110
