"""Real agent CLIs, in the versions pmem is tested with, against a scripted model server.

The CLIs are installed once into a cache outside of the tests' HOME; the model server is the one
beside the checkout. Where either is missing, the tests that need it are skipped and say why.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from real_agents import (
    CACHE,
    FAKELLM,
    MAKEFILE,
    Bench,
    Ear,
    Model,
    Reply,
    Screen,
    nothing,
    npm_installed,
)

from pmem.agents.protocol import AgentAdapter

CLAUDE_VERSION = "2.1.332"
CODEX_VERSION = "0.171.0"
GEMINI_VERSION = "0.61.0"
KEY = "sk-ant-api03-dummy-dummy-dummy-dummy-dummy-0000"


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

    def start(bench: Bench, argv: Sequence[str], extra: Mapping[str, str] | None = None) -> Screen:
        open_ones.append(Screen(short_dir / f"t{len(open_ones)}", bench, argv, extra or {}))
        return open_ones[-1]

    yield start
    for one in open_ones:
        one.close()


@pytest.fixture(scope="session")
def claude_program() -> Path:
    """The pinned Claude Code."""
    return npm_installed("@anthropic-ai/claude-code", CLAUDE_VERSION, "claude")


@pytest.fixture
def claude(claude_program: Path, outside: Path) -> Callable[..., Bench]:
    """A Claude Code of its own, talking to this model server, in a project that fails to build."""

    def bench(model: Model, name: str = "a") -> Bench:
        home, project = outside / name / "home", outside / name / "project"
        home.mkdir(parents=True)
        project.mkdir()
        (project / "Makefile").write_text(MAKEFILE)
        known = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(project): {"hasTrustDialogAccepted": True}},
        }
        (home / ".claude.json").write_text(json.dumps(known))
        env = {
            "HOME": str(home),
            "PATH": f"{claude_program.parent}:/usr/local/bin:/usr/bin:/bin",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        return Bench(home, project, claude_program, env)

    return bench


@pytest.fixture(scope="session")
def codex_program() -> Path:
    """The pinned Codex CLI."""
    return npm_installed("@openai/codex", CODEX_VERSION, "codex")


@pytest.fixture
def codex(codex_program: Path, outside: Path) -> Callable[..., Bench]:
    """A Codex CLI of its own, talking to this model server, in a project that fails to build."""

    def bench(model: Model, name: str = "a") -> Bench:
        home, project = outside / name / "home", outside / name / "project"
        (home / ".codex").mkdir(parents=True)
        project.mkdir()
        (project / "Makefile").write_text(MAKEFILE)
        config = f"""\
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{model.url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[features]
plugins = false
[projects."{project}"]
trust_level = "trusted"
"""
        (home / ".codex" / "config.toml").write_text(config)
        env = {
            "HOME": str(home),
            "PATH": f"{codex_program.parent}:/usr/local/bin:/usr/bin:/bin",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SCRIPTED_KEY": "none",
        }
        return Bench(home, project, codex_program, env)

    return bench


@pytest.fixture(scope="session")
def gemini_program() -> Path:
    """The pinned Gemini CLI."""
    return npm_installed("@google/gemini-cli", GEMINI_VERSION, "gemini")


@pytest.fixture
def gemini(gemini_program: Path, outside: Path) -> Callable[..., Bench]:
    """A Gemini CLI of its own, talking to this model server, in a project that fails to build."""

    def bench(model: Model, name: str = "a") -> Bench:
        home, project = outside / name / "home", outside / name / "project"
        (home / ".gemini").mkdir(parents=True)
        project.mkdir()
        (project / "Makefile").write_text(MAKEFILE)
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "ui": {"theme": "Default", "hideTips": True},
        }
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
        trusted = {str(project): "TRUST_FOLDER"}
        (home / ".gemini" / "trustedFolders.json").write_text(json.dumps(trusted))
        env = {
            "HOME": str(home),
            "PATH": f"{gemini_program.parent}:/usr/local/bin:/usr/bin:/bin",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_API_KEY": "none",
        }
        return Bench(home, project, gemini_program, env)

    return bench
