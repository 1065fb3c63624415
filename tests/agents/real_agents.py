"""What tests of real agent CLIs stand on: their installs, a model server, a socket, a screen."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.protocol import AgentAdapter
from pmem.core.decision import Delivery, Reminder
from pmem.core.event import SILENT, Answer, Citation, Event, Observed, Proposed
from pmem.core.step import Step

ROOT = Path(__file__).resolve().parents[2]
FAKELLM = ROOT.parent / "shared" / "tools" / "fakellm.py"
REAL_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)
#: Where the pinned CLIs are kept: outside of the HOME a test gets.
CACHE = Path(os.environ.get("PMEM_TEST_CACHE") or REAL_HOME / ".cache" / "pmem-tests")
#: Seconds after which a real agent counts as stuck.
STUCK = 90
#: Seconds a client may take for each piece of its request, and to take its answer.
PATIENCE = 5
#: A build that fails alike each time, with a message worth keeping.
MAKEFILE = """\
build:
\t@echo compiling main.c
\t@echo "main.c:3: fatal error: db.h: No such file or directory" >&2; exit 1
"""

Reply = Callable[[Event], Answer]


def npm_installed(package: str, version: str, binary: str, place: Path | None = None) -> Path:
    """The binary of this very version, installed into the cache if it is not there yet.

    `binary` is "" for a package without one, which is installed into `place`.
    """
    place = place or CACHE / f"{package.rpartition('/')[2]}-{version}"
    program = place / "node_modules" / (f".bin/{binary}" if binary else package)
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(f"npm is missing, and {package} {version} is not in {CACHE}")
        place.mkdir(parents=True, exist_ok=True)
        options = ["--save-exact", "--no-audit", "--no-fund", "--prefix", str(place)]
        done = subprocess.run(
            [npm, "install", *options, f"{package}@{version}"],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(REAL_HOME)},
        )
        if done.returncode != 0 or not program.exists():
            pytest.skip(f"{package} {version} cannot be installed: {done.stderr[-300:]}")
    return program


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

    def troubles(self) -> str:
        """What sessions met and told nobody."""
        state = self.home / ".local" / "state" / "pmem"
        return "".join(path.read_text() for path in sorted(state.rglob("errors.log")))

    def files(self) -> set[str]:
        """Every file below HOME and project, by its path."""
        return {
            str(path.relative_to(root.parent))
            for root in (self.home, self.project)
            for path in root.rglob("*")
            if not path.is_dir()
        }


class Ear:
    """A session that is only its socket: it takes hooks in and answers as a function says."""

    def __init__(self, path: Path, adapter: AgentAdapter, reply: Reply) -> None:
        self.events: list[Event] = []
        self.payloads: list[dict[str, Any]] = []
        self.troubles: list[str] = []
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

    def wait(self, kind: type, times: int = 1) -> None:
        """Until so many events of this kind were told; fails if they never are."""
        self._until(
            lambda: sum(isinstance(event, kind) for event in self.events) >= times, kind.__name__
        )

    def wait_for(self, action: str) -> None:
        """Until a step with this action was told; fails if it never is."""
        self._until(lambda: any(step.action == action for step in self.steps), action)

    def _until(self, true: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + STUCK
        while not true():
            told = [payload.get("hook_event_name") for payload in self.payloads]
            assert time.monotonic() < end, (
                f"{what} is missing: {told}, {self.events}, {self.troubles}"
            )
            time.sleep(0.05)

    def close(self) -> None:
        """Gone, as after a crash."""
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            # An agent may end a hook of its own at any moment, and a late one goes by itself: that
            # is this client's end alone, and those behind it are still heard.
            try:
                with link:
                    link.settimeout(PATIENCE)
                    request = b""
                    while chunk := link.recv(1 << 16):
                        request += chunk
                    link.sendall(self._answer(request.partition(b"\n")[2]))
            except Exception as trouble:
                self.troubles.append(repr(trouble))

    def _answer(self, payload: bytes) -> bytes:
        self.payloads.append(json.loads(payload))
        answer = SILENT
        for event in self._adapter.events(payload):
            self.events.append(event)
            latest = self._reply(event)
            answer = latest if latest.reminder is not None else answer
        return self._adapter.answer(payload, answer)


def _session_of(leader: str) -> str:
    """The processes of a terminal session, where ps can tell."""
    return subprocess.run(
        ["ps", "-o", "pid=", "-s", leader], capture_output=True, text=True
    ).stdout.strip()


class Screen:
    """One program in a tmux of its own: keys in, the visible screen out.

    With `in_tmux` it can tell that it runs there, and open panes.
    """

    def __init__(
        self,
        socket_path: Path,
        bench: Bench,
        argv: Sequence[str],
        extra: Mapping[str, str],
        in_tmux: bool = False,
    ) -> None:
        self._tmux = ["tmux", "-S", str(socket_path), "-f", "/dev/null"]
        env = {**bench.env, **extra}
        here = 'TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" ' * in_tmux
        words = [*(f"{name}={value}" for name, value in env.items()), *argv]
        self._run(
            *("new-session", "-d", "-x", "110", "-y", "45", "-c", str(bench.project)),
            f"env -i {here}{shlex.join(map(str, words))}; echo EXIT=$?; exec sleep {STUCK}",
        )
        self._panes = "list-panes", "-F"

    @property
    def pid(self) -> int:
        """The process of the program's pane: the shell that runs it."""
        return int(self._run(*self._panes, "#{pane_pid}").split()[0])

    @property
    def panes(self) -> int:
        """How many panes there are."""
        return len(self._run(*self._panes, "#{pane_id}").split())

    def keys(self, *keys: str) -> None:
        """Press keys, in tmux's names."""
        self._run("send-keys", "-t", ":.0", *keys)

    def enter(self, text: str) -> None:
        """Type text, and press Enter once it stands on the screen."""
        self._run("send-keys", "-t", ":.0", "-l", text)
        self.wait(text)
        time.sleep(0.3)  # Enter in the same burst would count as pasted
        self.keys("Enter")

    def choose(self, line: str) -> None:
        """Go down a menu until this line of it is the chosen one, and press Enter."""
        end = time.monotonic() + STUCK
        while line not in self.text():
            assert time.monotonic() < end, f"never chose {line!r}:\n{self.text()}"
            self.keys("Down")
            time.sleep(0.3)  # until it is drawn
        self.keys("Enter")

    def text(self, pane: int = 0) -> str:
        """The screen with its scrollback."""
        shown = self._run("capture-pane", "-p", "-S", "-500", "-t", f":.{pane}")
        return shown.replace("\xa0", " ")

    def wait(self, *wanted: str, pane: int = 0, flat: bool = False) -> str:
        """The screen as soon as it shows all of these; fails with the screen if it never does.

        With `flat` it is taken as one line with single spaces.
        """
        end = time.monotonic() + STUCK
        while True:
            screen = self.text(pane)
            seen = " ".join(screen.split()) if flat else screen
            if all(word in seen for word in wanted):
                return screen
            if time.monotonic() > end:
                raise AssertionError(f"never saw {wanted}:\n{screen}")
            time.sleep(0.1)

    def wait_panes(self, number: int) -> None:
        """Until there are so many panes; fails if there never are."""
        end = time.monotonic() + STUCK
        while self.panes != number:
            assert time.monotonic() < end, f"{self.panes} panes"
            time.sleep(0.1)

    def close(self) -> None:
        """End this tmux and wait for what runs in it: an agent writes files until it is gone."""
        leader = self._run(*self._panes, "#{pane_pid}").split()[:1]
        self._run("kill-server")
        end = time.monotonic() + PATIENCE
        while leader and _session_of(leader[0]) and time.monotonic() < end:
            time.sleep(0.05)

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True).stdout


# -- answers of an `Ear` -----------------------------------------------------------------------

REMINDER = Reminder("make build failed twice alike (steps 1, 2).", ("make-build",), "r", "c")
CITED = (Citation("make-build", "make build: failed at steps 1, 2 (db.h is missing).", (1, 2)),)
TOLD = Answer(REMINDER, False, Delivery.BEFORE, CITED)
HELD = Answer(REMINDER, True, Delivery.BEFORE, CITED)


def nothing(event: Event) -> Answer:
    """Silence, whatever happens."""
    return SILENT


def nth(command: str, n: int, answer: Answer) -> Reply:
    """Answers the nth proposal (from 1) of this command, and nothing else."""
    seen = 0

    def reply(event: Event) -> Answer:
        nonlocal seen
        if isinstance(event, Proposed) and event.action.text == command:
            seen += 1
            return answer if seen == n else SILENT
        return SILENT

    return reply


def after(command: str, answer: Answer) -> Reply:
    """Answers every finished run of this command."""

    def reply(event: Event) -> Answer:
        ran = isinstance(event, Observed) and event.step.action == command
        return answer if ran else SILENT

    return reply
