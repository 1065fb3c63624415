"""In tmux, programs look under pmem as they look without it, cell by cell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from rig import HOST, Rig, host_env
from tmux_server import Tmux, wait_for

Start = Callable[..., Rig]

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def under(command: list[str]) -> list[str]:
    return [sys.executable, str(HOST), "--", *command]


GALLERY = "".join(
    f"\x1b[38;2;{r};{g};128mrow {r:3} {g:3}\x1b[0m \x1b[1;4;7m강조 日本語 👩‍👩‍👧 e\u0301\x1b[0m\n"
    for r in range(0, 256, 60)
    for g in range(0, 256, 90)
)

PROGRAMS = {
    "vim": (
        ["vim", "-n", "-u", "NONE", "-c", "syntax on", "gallery.py"],
        ["G", "o가나다 ABC", "Escape"],
    ),
    "less": (["less", "-R", "gallery.txt"], ["Space", "k", "k"]),
    "cat": (["sh", "-c", "cat gallery.txt; sleep 1000"], []),
}


def play(server: Tmux, command: list[str], keys: list[str]) -> list[str]:
    """What the screen shows at first, after the keys, and after a resize."""
    server.start(command)
    screens = [server.settled()]
    for key in keys:
        server("send-keys", key)
        time.sleep(0.1)
    screens.append(server.settled())
    server("resize-window", "-x", "61", "-y", "17")
    time.sleep(0.3)
    screens.append(server.settled())
    server("resize-window", "-x", "101", "-y", "33")
    time.sleep(0.3)
    screens.append(server.settled())
    return screens


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_look_the_same_also_after_a_resize(
    tmux: Callable[[], Tmux], home: Path, name: str
) -> None:
    command, keys = PROGRAMS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    (home / "gallery.txt").write_text(GALLERY)
    (home / "gallery.py").write_text(
        "import os\n\n\ndef 함수(x: int) -> str:\n    return '값'\n" * 9
    )
    with_pmem, without = (play(tmux(), c, keys) for c in (under(command), command))
    for seen, expected in zip(with_pmem, without, strict=True):
        assert seen.splitlines() == expected.splitlines()


@pytest.mark.parametrize(
    "command", [["top", "-d", "100"], ["htop", "-d", "1000"]], ids=["top", "htop"]
)
def test_a_monitor_has_the_same_layout(tmux: Callable[[], Tmux], command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")

    def layout(command: list[str]) -> list[str]:
        server = tmux()
        server.start(command, columns=100)
        server.until("PID")
        lines = server.settled(colours=False).splitlines()
        values = r"[\d.|%]+[KMGT]?"
        head = lines[: next(n for n, line in enumerate(lines) if "PID" in line) + 1]
        return ["".join(re.sub(values, "", line).split()) for line in head]

    assert layout(under(command)) == layout(command)


def test_a_tui_is_suspended_and_resumed_by_the_shell_around_it(
    tmux: Callable[[], Tmux], home: Path
) -> None:
    tui = home / "tui.py"
    tui.write_text(
        "import os, signal, sys, tty\n"
        "tty.setraw(0)\n"
        "def draw(): os.write(1, b'\\x1b[?1049h\\x1b[2J\\x1b[H-- tui --')\n"
        "draw()\n"
        "while True:\n"
        "    key = os.read(0, 1)\n"
        "    if key == b'\\x1a':\n"
        "        os.write(1, b'\\x1b[?1049l')\n"
        "        os.kill(os.getpid(), signal.SIGSTOP)\n"
        "        tty.setraw(0); draw()\n"
        "    elif key == b'q':\n"
        "        os.write(1, b'\\x1b[?1049l'); sys.exit(5)\n"
    )
    server = tmux()
    server.start(["bash", "--norc", "-i"])
    server(
        "send-keys", f"PS1='$ '; clear; {shlex.join(under([sys.executable, str(tui)]))}", "Enter"
    )
    server.until("-- tui --")
    server("send-keys", "C-z")
    server.until("Stopped")
    server("send-keys", "echo still $((40+2)); fg; echo code $?", "Enter")
    server.until("-- tui --")
    server("send-keys", "q")
    assert "still 42" in server.until("code 5")


def shell_in(server: Tmux, home: Path, columns: int) -> None:
    """pmem's shell in a pane, with a session that reminds of every failure."""
    (home / ".bashrc").write_text("PS1='> '\n")
    run_dir = home / "run"
    run_dir.mkdir()
    script = Path(__file__).with_name("reminding.py")
    server.start([sys.executable, str(script), str(run_dir)], columns=columns)
    server.until(">")


@pytest.mark.parametrize("columns", [80, 200, 40, 20])
def test_a_banner_is_whole_in_tmux(tmux: Callable[[], Tmux], home: Path, columns: int) -> None:
    server = tmux()
    shell_in(server, home, columns)
    server("send-keys", "false", "Enter")
    server.until("[MEMORY REMINDER]")
    server("send-keys", "echo after", "Enter")
    server.until("\nafter")
    lines = [line for line in server.settled(colours=False).splitlines() if line]
    top = next(n for n, line in enumerate(lines) if "[MEMORY REMINDER]" in line)
    bottom = next(n for n, line in enumerate(lines) if line.startswith("╰"))
    assert lines[top - 1] == "> false"
    assert lines[bottom + 1 : bottom + 3] == ["> echo after", "after"]
    assert all(line[0] in "╭│╰" and line[-1] in "╮│╯" for line in lines[top : bottom + 1])
    assert "\x1b[35m" in server.screen() or columns == 20


def test_tmux_inside_the_shell_shows_no_mark(tmux: Callable[[], Tmux], home: Path) -> None:
    server, inner = tmux(), f"inner-{uuid.uuid4().hex[:6]}"
    shell_in(server, home, 80)
    server("send-keys", f"TMUX= tmux -L {inner} -f /dev/null new-session 'bash --norc'", "Enter")
    server.until("bash")
    server("send-keys", "echo from $((6*7))", "Enter")
    screen = server.until("from 42")
    assert "6973" not in screen
    server("send-keys", "exit", "Enter")
    server.until("[exited]")
    server("send-keys", "echo back", "Enter")
    server.until("\nback")


def option(server: Tmux) -> str:
    """The pane's option as a status line shows it."""
    return server("display-message", "-p", "#{@pmem}").strip()


@pytest.mark.parametrize("end", ["exit", "kill", "closed"])
def test_a_reminder_is_in_the_panes_option_until_the_end(
    tmux: Callable[[], Tmux], home: Path, end: str
) -> None:
    server = tmux()
    shell_in(server, home, 80)
    before = [server(*query) for query in OPTIONS]
    assert option(server) == ""
    server("send-keys", "false", "Enter")
    server.until("[MEMORY REMINDER]")
    wait_for(lambda: option(server).startswith("pmem 1: 테스트가"))
    server("send-keys", "false", "Enter")
    wait_for(lambda: option(server).startswith("pmem 2: "))
    if end == "exit":
        server("send-keys", "exit 3", "Enter")
        wait_for(lambda: server("display-message", "-p", "#{pane_dead}").strip() == "1")
    elif end == "kill":
        pid = server("display-message", "-p", "#{pane_pid}").strip()
        (host,) = subprocess.check_output(["pgrep", "-P", pid], text=True).split()
        os.kill(int(host), signal.SIGKILL)
    else:
        server("respawn-pane", "-k", "sh -c 'echo other; sleep 1000'")
        server.until("other")
    wait_for(lambda: option(server) == "")
    assert [server(*query) for query in OPTIONS] == before


def test_a_reminder_behind_a_full_screen_is_a_message(
    tmux: Callable[[], Tmux], bare: Start, home: Path
) -> None:
    server = tmux()
    shell_in(server, home, 80)
    client = bare(*server.command("attach"), env=host_env({"LANG": "C.UTF-8"}))
    client.expect("> ")
    server("send-keys", "true", "Enter")
    client.expect("true.*> ")
    server("send-keys", "less /etc/passwd", "Enter")
    client.expect("root:")
    client.until(lambda: "pmem 1: Read" in client.display()[-1])
    assert client.display()[0].startswith("root:")  # and the screen stays less's own
    assert "(touch ran)before [fg=red]{pane_id}, 50%H" in client.display()[-1]
    assert not list(home.rglob("ran"))
    server("send-keys", "q")
    client.expect("MEMORY REMINDER")


#: What tmux keeps of its own, the user's and the pane's options.
OPTIONS = [("show-options", *flags) for flags in (["-s"], ["-g"], [], ["-gw"], ["-w"], ["-p"])]
