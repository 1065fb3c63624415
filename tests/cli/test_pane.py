"""Reminders beside a program: in a small pane of tmux that comes and goes, never in its screen."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

#: Seconds after which a screen counts as stuck.
STUCK = 15
#: An agent of two failing builds, and a third that is proposed; it stays until it reads a line.
AGENT = """\
import json, os, subprocess
def tell(**said):
    line = json.dumps(said).encode()
    hook = ["/bin/sh", "-c", os.environ["PMEM_HOOK"]]
    return subprocess.run(hook, input=line, capture_output=True).stdout
build = {"kind": "command", "text": "make build"}
tell(event="user", text="build it")
for n in range(3):
    held = tell(event="proposed", action={**build, "call_id": str(n)})
    if not held:
        tell(event="observed", step={"kind": "command", "action": "make build", "exit_code": 2,
             "observation": "main.c:3: fatal error: db.h: No such file", "call_id": str(n)})
print("held" if held else "silent", flush=True)
input()
"""


class Window:
    """A window of a tmux of its own, with a program in its first pane."""

    def __init__(self, socket: Path, env: dict[str, str], cwd: Path, argv: list[str]) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        words = [*(f"{name}={value}" for name, value in env.items()), *argv]
        here = 'TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" TERM="$TERM"'
        line = f"env -i {here} {shlex.join(words)}; echo EXIT=$?; exec sleep {STUCK}"
        self("new-session", "-d", "-x", "90", "-y", "30", "-c", str(cwd), line)
        self("set-option", "-g", "remain-on-exit", "on")

    def __call__(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True).stdout

    def panes(self) -> list[str]:
        """The ids of the panes, the program's first, each with a star if it has the keys."""
        return self("list-panes", "-F", "#{pane_id}#{?pane_active,*,}").split()

    def pid(self) -> int:
        """The process of the first pane."""
        return int(self("list-panes", "-F", "#{pane_pid}").split()[0])

    def wait(self, seen: Callable[[], bool]) -> None:
        """Until something is so."""
        end = time.monotonic() + STUCK
        while not seen():
            assert time.monotonic() < end, [self.text(p.rstrip("*")) for p in self.panes()]
            time.sleep(0.05)

    def text(self, pane: str) -> str:
        """What stands in a pane."""
        return self("capture-pane", "-p", "-t", pane)


@pytest.fixture
def window(home: Path, short_dir: Path, tmp_path: Path) -> Iterator[Callable[..., Window]]:
    """Opens the agent under `pmem run` with these options."""
    program = tmp_path / "pmem-scripted-agent"
    program.write_text(f"#!{sys.executable}\n{AGENT}")
    program.chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    opened: list[Window] = []

    def start(*options: str, **more: str) -> Window:
        env = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        env |= {"XDG_RUNTIME_DIR": str(short_dir), **more}
        argv = [sys.executable, "-m", "pmem", "run", *options, "--", str(program)]
        opened.append(Window(short_dir / "t", env, project, argv))
        return opened[-1]

    yield start
    for one in opened:
        one("kill-server")


def test_the_pane_shows_the_reminder_leaves_the_keys_and_goes_with_the_program(
    window: Callable[..., Window],
) -> None:
    shown = window("--pane", "always")
    shown.wait(lambda: len(shown.panes()) == 2)
    first, second = shown.panes()
    assert (first[-1], second[-1]) == ("*", second[-1]) and not second.endswith("*")
    shown.wait(lambda: "[MEMORY REMINDER]" in shown.text(second))
    text = shown.text(second)
    assert "`make build` failed twice alike" in text
    assert "held back once; proposed again it runs" in text
    assert "[MEMORY REMINDER]" not in shown.text(first.rstrip("*"))
    shown("send-keys", "-t", first.rstrip("*"), "Enter")
    shown.wait(lambda: "EXIT=0" in shown.text(first.rstrip("*")))
    shown.wait(lambda: len(shown.panes()) == 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_pane_goes_however_pmem_ends(window: Callable[..., Window], number: int) -> None:
    shown = window("--pane", "always")
    shown.wait(lambda: len(shown.panes()) == 2)
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    (pmem,) = [int(pid) for pid, parent in rows if int(parent) == shown.pid()]
    subprocess.run(["kill", f"-{int(number)}", str(pmem)], check=True)
    shown.wait(lambda: len(shown.panes()) == 1)


@pytest.mark.parametrize("options", [("--pane", "never"), ()], ids=["never", "auto"])
def test_no_pane_for_an_agent_that_shows_its_reminders_or_where_none_is_wanted(
    window: Callable[..., Window], options: tuple[str, ...]
) -> None:
    shown = window(*options)
    shown.wait(lambda: "held" in shown.text(shown.panes()[0].rstrip("*")))
    assert len(shown.panes()) == 1
