"""Real agent CLIs, in the versions pmem is tested with, against a scripted model server.

The CLIs are installed once into a cache outside of the tests' HOME; the model server is the one
beside the checkout. Where either is missing, the tests that need it are skipped and say why.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from benches import MakeBench, maker
from real_agents import CACHE, FAKELLM, Bench, Ear, Model, Reply, Screen, nothing

from pmem.agents.protocol import AgentAdapter


@pytest.fixture(scope="session")
def fakellm() -> ModuleType:
    """The scripted model server's module."""
    if not FAKELLM.is_file():
        pytest.skip(f"the scripted model server is not beside the checkout: {FAKELLM}")
    spec = importlib.util.spec_from_file_location("fakellm", FAKELLM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def model(fakellm: ModuleType, tmp_path: Path) -> Iterator[Callable[[Sequence[Any]], Model]]:
    """Starts a model server that plays these steps."""
    servers = []

    def start(script: Sequence[Any]) -> Model:
        log = tmp_path / f"model-{len(servers)}.jsonl"
        server, port = fakellm.serve(0, list(script), str(log))
        servers.append(server)
        return Model(f"http://127.0.0.1:{port}", log)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def outside() -> Iterator[Path]:
    """A directory not below a world-writable one (some agents refuse those), taken away after."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="run-", dir=CACHE))
    yield path
    for _ in range(50):  # an agent whose terminal was closed may write a little longer
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(0.1)
        if not path.exists():
            break


@pytest.fixture
def ear(short_dir: Path) -> Iterator[Callable[..., Ear]]:
    """Opens an `Ear` for one adapter."""
    open_ones: list[Ear] = []

    def listen(adapter: AgentAdapter, reply: Reply = nothing) -> Ear:
        open_ones.append(Ear(short_dir / f"s{len(open_ones)}", adapter, reply))
        return open_ones[-1]

    yield listen
    for one in open_ones:
        one.close()


@pytest.fixture
def screen(short_dir: Path) -> Iterator[Callable[..., Screen]]:
    """Opens a program of a bench in tmux."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is missing")
    open_ones: list[Screen] = []

    def start(
        bench: Bench,
        argv: Sequence[str],
        extra: Mapping[str, str] | None = None,
        in_tmux: bool = False,
    ) -> Screen:
        socket = short_dir / f"t{len(open_ones)}"
        open_ones.append(Screen(socket, bench, argv, extra or {}, in_tmux))
        return open_ones[-1]

    yield start
    for one in open_ones:
        one.close()


@pytest.fixture
def claude(outside: Path) -> MakeBench:
    """Makes benches of Claude Code."""
    return maker("claude", outside)


@pytest.fixture
def codex(outside: Path) -> MakeBench:
    """Makes benches of Codex CLI."""
    return maker("codex", outside)


@pytest.fixture
def gemini(outside: Path) -> MakeBench:
    """Makes benches of Gemini CLI."""
    return maker("gemini", outside)
