"""What tests of a real agent under `pmem run` ask: what the model saw, what the bank holds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import CACHE, MAKEFILE, Bench, Ear, Model, npm_installed

from pmem.agents.protocol import AgentAdapter, HookLine
from pmem.core.decision import HEADER
from pmem.core.event import Finished, Proposed, UserMessage
from pmem.hook.line import hook_command

NODE_VERSION = "24.21.0"
PMEM = (sys.executable, "-m", "pmem")
#: A build that fails twice alike, something else, the same build proposed again.
SCRIPT = [
    *({"shell": "make build"}, {"shell": "make build"}, {"shell": "cat Makefile"}),
    *({"shell": "make build"}, {"text": "It does not build."}),
]
#: The same, with the build proposed once more after that.
INSISTING = [*SCRIPT[:4], {"shell": "make build"}, {"text": "It does not build."}]


def node_directory() -> Path:
    """Where a node stands that is new enough for every agent; skips where there is none."""
    return npm_installed("node", NODE_VERSION, "node").parent


def bench_of(place: Path, program: Path, env: Mapping[str, str], *path: Path) -> Bench:
    """A HOME and a project that fails to build, below `place`, for one agent."""
    home, project = place / "home", place / "project"
    home.mkdir(parents=True)
    project.mkdir()
    (project / "Makefile").write_text(MAKEFILE)
    own = {
        "HOME": str(home),
        "PATH": ":".join([*map(str, path), "/usr/local/bin", "/usr/bin", "/bin"]),
        "SHELL": "/bin/bash",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PMEM_PATIENCE": "10",  # plug-ins on a busy machine
    }
    return Bench(home, project, program, {**own, **env})


def start(
    bench: Bench, session: Ear, adapter: AgentAdapter, run_dir: Path, *args: str
) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment that an adapter makes of these arguments."""
    line = HookLine(hook_command(adapter.name, seconds=10))
    launch = adapter.launch(str(bench.program), args, line, run_dir, bench.env, bench.project)
    return list(launch.argv), {**launch.env, **session.env}


def counts(played: Model) -> list[int]:
    """How often each request to the model holds a reminder."""
    return [body.count(HEADER) for body in played.bodies()]


def told(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages of a request that hold a reminder."""
    messages = request["body"]["messages"]
    return [m for m in messages if HEADER in json.dumps(m, ensure_ascii=False)]


def attempts(bench: Bench, command: str = "make build") -> dict[str, Any]:
    """What the project's bank keeps of a command, as `pmem bank list --json` tells it."""
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    (entry,) = [e for e in listed["procedural"] if e.get("command") == command]
    found: dict[str, Any] = entry
    return found


def steps(bench: Bench) -> list[dict[str, Any]]:
    """The steps of the newest session, as `pmem log --json` tells them."""
    return [json.loads(line) for line in bench.run([*PMEM, "log", "--json"]).stdout.splitlines()]


def left(bench: Bench) -> set[str]:
    """The files left behind outside of pmem's own places; ids and times in names are stars.

    Locks are left out: whether one is there depends on the moment.
    """
    ours = re.compile(r"project/\.pmem/|home/\.local/state/pmem/")
    names = {name for name in bench.files() if not ours.match(name) and not name.endswith(".lock")}
    return {re.sub(r"[0-9a-f-]{8,}|-(bare|pmem)-|\d+", "*", name) for name in names}


def venv_installed(package: str, version: str, binary: str) -> Path:
    """A program of a Python package, in a virtual environment of its own in the cache."""
    place = CACHE / f"{package}-{version}"
    program = place / "bin" / binary
    if not program.exists():
        commands: Sequence[Sequence[str]] = (
            (sys.executable, "-m", "venv", str(place)),
            (str(place / "bin" / "python"), "-m", "pip", "install", "-q", f"{package}=={version}"),
        )
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"{package} {version} cannot be installed: {done.stderr[-300:]}")
    return program


def calls(write: str, edit: str, path: str, old: str, change: Mapping[str, Any]) -> list[Any]:
    """A file written, a change of it that fails, two commands side by side; named as a CLI does.

    `path` and `old` are what the CLI calls the file and its text, `change` the failing change.
    """
    return [
        {"tool": write, "args": {path: "@/x.txt", old: "hello\n"}},
        {"tool": edit, "args": {path: "@/x.txt", **change}},
        {"shells": ["echo one", "make build"]},
        {"text": "All done."},
    ]


def placed(script: Sequence[Any], project: Path) -> list[Any]:
    """The script with `@` as this project's path."""
    found: list[Any] = json.loads(json.dumps(script).replace("@/", f"{project}/"))
    return found


def assert_each_call_is_one_step(session: Ear, project: Path, closing: str = "All done.") -> None:
    """What a session was told of `calls`; `closing` is how the agent's last words begin."""
    words = [event for event in session.events if isinstance(event, UserMessage)]
    assert words == [UserMessage("build it")]
    assert sum(isinstance(event, Proposed) for event in session.events) == 4
    written, changed, *commands = session.steps
    assert (written.kind, bool(written.is_error)) == ("edit", False)
    assert written.action.splitlines()[0].endswith(f" {project}/x.txt")
    assert (changed.kind, changed.is_error, changed.refused) == ("edit", True, False)
    assert sorted((s.action, s.exit_code, s.cwd) for s in commands) == [
        ("echo one", 0, str(project)),
        ("make build", 2, str(project)),
    ]
    (message,) = [event.message for event in session.events if isinstance(event, Finished)]
    assert message.startswith(closing)
