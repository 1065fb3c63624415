"""A tmux server of the test's own."""

from __future__ import annotations

import shlex
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path


class Tmux:
    """A tmux server of the test's own."""

    def __init__(self, env: dict[str, str], cwd: Path) -> None:
        self._socket = f"pmem-test-{uuid.uuid4().hex[:8]}"
        self._env = {k: v for k, v in env.items() if not k.startswith("TMUX")}
        self._cwd = cwd

    def command(self, *command: str) -> list[str]:
        return ["tmux", "-L", self._socket, "-f", "/dev/null", *command]

    def __call__(self, *command: str) -> str:
        done = subprocess.run(
            self.command(*command),
            env=self._env,
            cwd=self._cwd,
            capture_output=True,
            text=True,
            timeout=20,
        )
        return done.stdout

    def start(self, command: list[str], columns: int = 80, rows: int = 24) -> None:
        """A session with one pane in which a shell command runs; the pane stays at its end."""
        size = ["-x", str(columns), "-y", str(rows)]
        self("new-session", "-d", *size, "sh", "-c", "sleep 1000")
        self("set", "-g", "status", "off")
        self("set", "-g", "remain-on-exit", "on")
        self("set", "-as", "terminal-overrides", ",*:Tc")
        self("respawn-pane", "-k", shlex.join(command))

    def screen(self, colours: bool = True) -> str:
        """The screen, with its colours and attributes."""
        return self("capture-pane", "-p", *(["-e"] if colours else []))

    def settled(self, colours: bool = True) -> str:
        """The screen once it stays as it is."""
        last, since = "", time.monotonic()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            now = self.screen(colours)
            if now != last:
                last, since = now, time.monotonic()
            elif now.strip() and time.monotonic() - since > 0.6:
                return now
            time.sleep(0.1)
        return last

    def until(self, text: str) -> str:
        """The screen once it has this text."""
        deadline = time.monotonic() + 20
        while text not in (screen := self.screen(colours=False)):
            assert time.monotonic() < deadline, screen
            time.sleep(0.05)
        return screen


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
