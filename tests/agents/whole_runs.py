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
from real_agents import CACHE, MAKEFILE, Bench, Model, npm_installed

from pmem.core.decision import HEADER

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
    """The files left behind outside of pmem's own places; ids and times in names are stars."""
    ours = re.compile(r"project/\.pmem/|home/\.local/state/pmem/")
    names = {name for name in bench.files() if not ours.match(name)}
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
