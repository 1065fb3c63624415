"""Real agent CLIs, in the versions pmem is tested with, against a scripted model server.

The CLIs are installed once into a cache outside of the tests' HOME; the model server is the one
beside the checkout. Where either is missing, the tests that need it are skipped and say why.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pwd
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pmem.agents.protocol import AgentAdapter
from pmem.core.event import SILENT, Answer, Event, Observed
from pmem.core.step import Step

ROOT = Path(__file__).resolve().parents[2]
FAKELLM = ROOT.parent / "shared" / "tools" / "fakellm.py"
#: Seconds after which a real agent counts as stuck.
STUCK = 90


#: Where the pinned CLIs are kept: outside of the HOME a test gets.
CACHE = Path(
    os.environ.get("PMEM_TEST_CACHE")
    or Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "pmem-tests"
)


def npm_installed(package: str, version: str, binary: str) -> Path:
    """The binary of this very version, installed into the cache if it is not there yet."""
    place = CACHE / f"{package.rpartition('/')[2]}-{version}"
    program = place / "node_modules" / ".bin" / binary
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(f"npm is missing, and {package} {version} is not in {CACHE}")
        place.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--engine-strict=false"]
        done = subprocess.run(
            [*command, "--prefix", str(place), f"{package}@{version}"],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(place)},
        )
        if done.returncode != 0 or not program.exists():
            pytest.skip(f"{package} {version} cannot be installed: {done.stderr[-300:]}")
    return program


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


@dataclass
class Model:
    """A running scripted model server."""

    url: str
    log: Path

    def requests(self) -> list[dict[str, Any]]:
        """The agent's own requests (side calls left out), oldest first."""
        if not self.log.exists():
            return []
        rows = [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]
        return [row for row in rows if row.get("main")]

    def bodies(self) -> list[str]:
        """Their bodies as text, characters unescaped."""
        return [json.dumps(row["body"], ensure_ascii=False) for row in self.requests()]


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
    shutil.rmtree(path, ignore_errors=True)


@dataclass
class Bench:
    """One agent's own HOME, project and environment; nothing of the machine's user leaks in."""

    home: Path
    project: Path
    program: Path
    env: dict[str, str] = field(default_factory=dict)

    def run(
        self, argv: Sequence[str], extra: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end without a terminal, as a script would."""
        return subprocess.run(
            [str(word) for word in argv],
            cwd=self.project,
            env={**self.env, **(extra or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=STUCK,
        )

    def files(self) -> set[str]:
        """Every file below HOME and project, by its path."""
        roots = (self.home, self.project)
        return {
            str(path.relative_to(root.parent))
            for root in roots
            for path in root.rglob("*")
            if not path.is_dir()
        }


class Ear:
    """A session that is only its socket: it takes hooks in and answers as a function says."""

    def __init__(
        self, path: Path, adapter: AgentAdapter, reply: Callable[[Event], Answer] = lambda _: SILENT
    ) -> None:
        self.events: list[Event] = []
        self.payloads: list[dict[str, Any]] = []
        self.env = {"PMEM_SOCK": str(path), "PMEM_TOKEN": "token"}
        self._adapter, self._reply = adapter, reply
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def steps(self) -> list[Step]:
        """The observed steps, in the order in which they were told."""
        return [event.step for event in self.events if isinstance(event, Observed)]

    def close(self) -> None:
        """Gone, as after a crash."""
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            request = b""
            while chunk := link.recv(1 << 16):
                request += chunk
            link.sendall(self._answer(request.partition(b"\n")[2]))
            link.close()

    def _answer(self, payload: bytes) -> bytes:
        self.payloads.append(json.loads(payload))
        answer = SILENT
        for event in self._adapter.events(payload):
            self.events.append(event)
            latest = self._reply(event)
            answer = latest if latest.reminder is not None else answer
        return self._adapter.answer(payload, answer)


@pytest.fixture
def ear(short_dir: Path) -> Iterator[Callable[..., Ear]]:
    """Opens an `Ear` for one adapter."""
    open_ones: list[Ear] = []

    def listen(adapter: AgentAdapter, reply: Callable[[Event], Answer] = lambda _: SILENT) -> Ear:
        open_ones.append(Ear(short_dir / f"s{len(open_ones)}", adapter, reply))
        return open_ones[-1]

    yield listen
    for one in open_ones:
        one.close()


KEY = "sk-ant-api03-dummy-dummy-dummy-dummy-dummy-0000"
CLAUDE_VERSION = "2.1.332"
MAKEFILE = """\
build:
\t@echo compiling main.c
\t@echo "main.c:3: fatal error: db.h: No such file or directory" >&2; exit 1
"""


@pytest.fixture(scope="session")
def claude_program() -> Path:
    """The pinned Claude Code."""
    return npm_installed("@anthropic-ai/claude-code", CLAUDE_VERSION, "claude")


@pytest.fixture
def claude(claude_program: Path, outside: Path) -> Callable[[Model, str], Bench]:
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
            "PYTHONPATH": str(ROOT),
        }
        return Bench(home, project, claude_program, env)

    return bench


class Screen:
    """One program in a tmux of its own: keys in, the visible screen out."""

    def __init__(
        self, socket_path: Path, bench: Bench, argv: Sequence[str], extra: Mapping[str, str]
    ):
        self._tmux = ["tmux", "-S", str(socket_path), "-f", "/dev/null"]
        env = {**bench.env, **extra}
        command = shlex.join(["env", "-i", *(f"{k}={v}" for k, v in env.items()), *map(str, argv)])
        self._run(
            *("new-session", "-d", "-x", "110", "-y", "45", "-c", str(bench.project)),
            f"{command}; echo EXIT=$?; exec sleep {STUCK}",
        )

    def keys(self, *keys: str) -> None:
        """Press keys, in tmux's names."""
        self._run("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type text as it is."""
        self._run("send-keys", "-l", text)

    def text(self) -> str:
        """The screen with its scrollback."""
        return self._run("capture-pane", "-p", "-S", "-500")

    def wait(self, *wanted: str) -> str:
        """The screen as soon as it shows all of these; fails with the screen if it never does."""
        end = time.monotonic() + STUCK
        while time.monotonic() < end:
            screen = self.text()
            if all(word in screen for word in wanted):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"never saw {wanted}:\n{screen}")

    def close(self) -> None:
        """End this tmux and what runs in it."""
        self._run("kill-server")

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=False)
        return done.stdout


@pytest.fixture
def screen(short_dir: Path) -> Iterator[Callable[..., Screen]]:
    """Opens a program of a bench in tmux."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is missing")
    open_ones: list[Screen] = []

    def start(bench: Bench, argv: Sequence[str], extra: Mapping[str, str]) -> Screen:
        open_ones.append(Screen(short_dir / f"t{len(open_ones)}", bench, argv, extra))
        return open_ones[-1]

    yield start
    for one in open_ones:
        one.close()
