"""Rigs that end with their test."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rig import HOST, NONCE, Answer, Rig, host, host_env, silent
from tmux_server import Tmux

from shells import Open, write_rc

Start = Callable[..., Rig]


@pytest.fixture
def rigs() -> Iterator[list[Rig]]:
    rigs: list[Rig] = []
    yield rigs
    for rig in rigs:
        rig.close()


@pytest.fixture
def bare(rigs: list[Rig]) -> Start:
    """Start any program in a rig."""

    def start(*argv: str, **options: Any) -> Rig:
        rig = Rig(argv, **options)
        rigs.append(rig)
        return rig

    return start


@pytest.fixture
def under_pmem(bare: Start) -> Start:
    """Start a program in a rig, with the relay between."""

    def start(*argv: str, **options: Any) -> Rig:
        options["env"] = host_env(options.get("env"))
        return bare(*host(*argv), **options)

    return start


@pytest.fixture
def shell(rigs: list[Rig], short_dir: Path, home: Path) -> Start:
    """Start a shell under pmem in a rig, with a session that answers on its link."""

    def start(
        name: str,
        *more: str,
        answer: Answer | None = silent,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Rig:
        ours, theirs = socket.socketpair()
        argv = [sys.executable, str(HOST), "--link", str(theirs.fileno()), "--nonce", NONCE]
        argv += ["--shell", name, "--dir", str(short_dir), *more]
        rig = Rig(
            argv,
            env=host_env({"LANG": "C.UTF-8", **(env or {})}),
            link=ours,
            answer=answer,
            pass_fds=[theirs.fileno()],
            cwd=options.pop("cwd", home),
            **options,
        )
        theirs.close()
        rigs.append(rig)
        return rig

    return start


@pytest.fixture
def opened(shell: Start, home: Path) -> Open:
    """A shell at its first prompt; `rc` is added to its rc file."""

    def start(name: str, *more: str, rc: str = "", **options: Any) -> Rig:
        write_rc(home, name, rc)
        rig = shell(name, *more, **options)
        rig.expect("> ")
        return rig

    return start


@pytest.fixture
def tmux(home: Path) -> Iterator[Callable[[], Tmux]]:
    servers: list[Tmux] = []

    def make() -> Tmux:
        server = Tmux(host_env({"LANG": "C.UTF-8", "TERM": "xterm-256color"}), home)
        servers.append(server)
        return server

    yield make
    for server in servers:
        server("kill-server")
