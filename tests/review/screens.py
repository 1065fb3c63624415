"""A tmux of the test's own, in which a person would sit."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent.parent
#: However slow the machine is; nothing takes so long.
PATIENCE = 60.0


class Screen:
    """A terminal of a fixed size in which a command runs."""

    def __init__(self, cwd: Path, env: Mapping[str, str], columns: int, rows: int) -> None:
        self._socket = f"pmem-review-{uuid.uuid4().hex[:8]}"
        self._cwd = cwd
        self._env = {
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(CHECKOUT),
            **env,
        }
        self._size = ("-x", str(columns), "-y", str(rows))

    def start(self, *args: str) -> None:
        """Run `pmem ARGS`; the screen stays when it ends, with a word that says so."""
        command = shlex.join([sys.executable, "-m", "pmem", *args])
        line = f"{command}; echo ended $?; sleep 1000"
        self._tmux("new-session", "-d", *self._size, "sh", "-c", line)
        self._tmux("set", "-g", "status", "off")

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names for them."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type a text."""
        self._tmux("send-keys", "-l", text)

    def shown(self, colours: bool = False) -> str:
        """What stands on the screen."""
        return self._tmux("capture-pane", "-p", *(["-eN"] if colours else []))

    def until(self, fits: str | Callable[[str], bool]) -> str:
        """The screen once it holds a text, or fits otherwise."""
        deadline = time.monotonic() + PATIENCE
        while True:
            screen = self.shown()
            if fits in screen if isinstance(fits, str) else fits(screen):
                return screen
            assert time.monotonic() < deadline, f"never seen: {fits}\n{screen}"
            time.sleep(0.05)

    def end(self) -> None:
        """End it and all that runs in it."""
        self._tmux("kill-server")

    def _tmux(self, *command: str) -> str:
        return subprocess.run(
            ["tmux", "-L", self._socket, "-f", "/dev/null", *command],
            env=self._env,
            cwd=self._cwd,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        ).stdout
