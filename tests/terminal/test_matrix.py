"""Each shell once inside tmux, through all that people do in one; and sudo and ssh as one step."""

from __future__ import annotations

import getpass
import json
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rig import ROOT
from tmux_server import Tmux, wait_for

from shells import SHELLS, Open, count, run, write_rc

each_shell = pytest.mark.parametrize("name", SHELLS)


class Row(NamedTuple):
    """What is typed, line by line, and the steps it makes: command, exit code, output; None:
    whatever it is. `C-c` is a key, `+word` is left without Enter, `?word` waits until it is a line.
    """

    keys: list[str]
    steps: list[tuple[str | None, int | None, str | None]]
    only: tuple[str, ...] = tuple(SHELLS)


STATUS = {"bash": "echo status $?", "zsh": "echo status $?", "fish": "echo status $status"}
PIPE = {
    "bash": 'echo pipe "${PIPESTATUS[@]}"',
    "zsh": "echo pipe $pipestatus",
    "fish": "echo pipe $pipestatus",
}
#: Programs that say when they are up.
UP = ["sh -c 'echo up0; exec sleep 61'", "sh -c 'echo up1; exec sleep 0.7'"]
LOOP = {
    "bash": ["for i in 1 2", "do echo line$i", "done"],
    "zsh": ["for i in 1 2", "do echo line$i", "done"],
    "fish": ["for i in 1 2", "echo line$i", "end"],
}


#: Read by each as a login shell: prompt hooks, traps, strictness and history settings of the
#: user's own, as far as the shell has them.
PROFILE = {
    "bash": (".bash_profile", ". ~/.bashrc\nfrom_profile=yes\n"),
    "zsh": (".zprofile", "from_profile=yes\n"),
    "fish": (".config/fish/conf.d/profile.fish", "status is-login; and set -g from_profile yes\n"),
}
OWN = {
    "bash": (
        "PROMPT_COMMAND=('hook=\"$? ${PIPESTATUS[*]}\"' 'hooks=more')\n"
        "trap 'seen=$BASH_COMMAND' DEBUG\n"
        "set -u\n"
        "HISTSIZE=9 HISTTIMEFORMAT='%F ' HISTIGNORE='*token*' HISTCONTROL=ignorespace:erasedups\n"
        "shopt -s histappend\n"
    ),
    "zsh": (
        'precmd() { hook="$? $pipestatus" hooks=more }\n'
        "trap 'seen=$ZSH_DEBUG_CMD' DEBUG\n"
        "setopt no_unset\n"
        "HISTSIZE=9 HISTORY_IGNORE='*token*'; setopt hist_ignore_all_dups extended_history\n"
    ),
    "fish": (
        "function mine --on-event fish_prompt; set -g hook $status $pipestatus; end\n"
        "set -g hooks more; set -g fish_history other\n"
    ),
}
TRAPPED = "echo seen $seen"
UNSET = {"bash": "bash: nosuch: unbound variable\n", "zsh": "zsh: nosuch: parameter not set\n"}


def rows(name: str) -> list[Row]:
    """What is done in this shell."""
    return [
        Row(["echo $from_profile"], [("echo $from_profile", 0, "yes\n")]),
        Row(["sh -c 'exit 9' | true"], [("sh -c 'exit 9' | true", 0, "")]),
        Row(["echo $hook $hooks"], [("echo $hook $hooks", 0, "0 9 0 more\n")]),
        Row([TRAPPED], [(TRAPPED, 0, f"seen {TRAPPED}\n")], ("bash", "zsh")),
        Row(["echo $nosuch"], [("echo $nosuch", 1, UNSET.get(name))], ("bash", "zsh")),
        Row(["echo token"], [("", None, "")], ("bash", "zsh")),
        Row(["sh -c 'exit 7'"], [("sh -c 'exit 7'", 7, "")]),
        Row([STATUS[name]], [(STATUS[name], 0, "status 7\n")]),
        Row(["sh -c 'exit 3' | true"], [("sh -c 'exit 3' | true", 0, "")]),
        Row([PIPE[name]], [(PIPE[name], 0, "pipe 3 0\n")]),
        Row([" echo secret-word"], [("", None, "")]),
        Row(["", "+half", "C-c"], []),
        Row(["echo '한글 日本語'"], [("echo '한글 日本語'", 0, "한글 日本語\n")]),
        Row(LOOP[name], [(None, 0, "line1\nline2\n")]),
        Row(["cat <<END", "body", "END"], [(None, 0, "body\n")], ("bash", "zsh")),
        Row([UP[0], "?up0", "C-c"], [(UP[0], 130, None)]),
        Row([UP[1], "?up1", "C-z"], [(UP[1], None, None)]),
        Row(["fg"], [("fg", 0, None)]),
        Row(["sleep 0.1 &"], [("sleep 0.1 &", 0, None)]),
        Row(["bash --norc", "echo inside", "exit 3"], [("bash --norc", 3, None)]),
    ]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@each_shell
def test_a_shell_inside_tmux_tells_all_that_is_done_in_it(
    tmux: Callable[[], Tmux], home: Path, name: str
) -> None:
    write_rc(home, name, OWN[name])
    file, text = PROFILE[name]
    (home / file).parent.mkdir(parents=True, exist_ok=True)
    (home / file).write_text(text)
    (home / "project/.git").mkdir(parents=True)
    server = tmux()
    command = [sys.executable, "-m", "pmem", "shell", "--quiet", "--login", "--shell", name]
    server.start(
        [
            "env",
            f"PYTHONPATH={ROOT}",
            "sh",
            "-c",
            f"cd project; {shlex.join(command)}; echo code $?",
        ]
    )
    server.until(">")
    expected: list[tuple[str | None, int | None, str | None]] = []
    for row in rows(name):
        if name not in row.only:
            continue
        for key in row.keys:
            if key in ("C-c", "C-z"):
                server("send-keys", key)
            elif key.startswith("+"):
                server("send-keys", "-l", key[1:])
                server.until(f"> {key[1:]}\n")
            elif key.startswith("?"):
                server.until(f"\n{key[1:]}\n")
            else:
                server("send-keys", "-l", key)
                server("send-keys", "Enter")
                time.sleep(0.1)
        expected += row.steps
        wait_for_steps(home, len(expected))
        wait_for(lambda: server.screen(colours=False).rstrip().endswith("\n>"))
    made = steps(home)
    assert "6973" not in server.screen(colours=False)
    server("send-keys", "-l", "exit 4")
    server("send-keys", "Enter")
    server.until("\ncode 4\n")
    assert len(made) == len(expected)
    for step, (command_, code, output) in zip(made, expected, strict=True):
        if command_ is not None:
            assert step["action"] == command_ or not command_
        if code is not None:
            assert step["exit_code"] == code
        if output is not None:
            assert step["observation"] == output
    assert "secret-word" not in str(made)


def wait_for_steps(home: Path, number: int) -> None:
    wait_for(lambda: len(steps(home)) >= number)


def steps(home: Path) -> list[dict[str, Any]]:
    """The steps of the only session, as they are recorded."""
    logs = list((home / ".local/state/pmem").glob("*/*/steps.jsonl"))
    lines = [line for log in logs for line in log.read_text("utf-8").splitlines()]
    return [step for step in map(json.loads, lines) if "step" in step]


def can_sudo() -> bool:
    if shutil.which("sudo") is None:
        return False
    return subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_sudo(), reason="sudo is not installed, or asks for a password")
@each_shell
def test_sudo_is_one_step(opened: Open, name: str) -> None:
    rig = opened(name, env={"SHELL": "/bin/sh"})
    assert run(rig, "sudo -n sh -c 'exit 4'")["exit_code"] == 4
    rig.line("sudo -n -s")
    rig.expect("sudo -n -s.*[#$>] ")
    rig.line("echo inside $((40+2))")
    rig.expect("inside 42\r\n")
    assert count(rig, "finished") == 1
    finished = run(rig, "exit 5")
    assert (finished["command"], finished["exit_code"]) == ("sudo -n -s", 5)
    assert "inside 42" in finished["output"]


class Far(NamedTuple):
    """A host to log in to: the command line that does it."""

    command: str


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    """An sshd of the test's own on loopback, with keys of its own."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("sshd and ssh are not installed")
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    for key in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / key)], check=True
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": keys / "host",
        "AuthorizedKeysFile": keys / "user.pub",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "PidFile": "none",
    }
    (keys / "config").write_text("".join(f"{k} {v}\n" for k, v in config.items()))
    if getpass.getuser() == "root":
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd leaves its rights there
    server = subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(keys / "config")], stderr=subprocess.DEVNULL
    )

    def listens() -> bool:
        assert server.poll() is None, "sshd ended"
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(listens)
        options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        yield Far(f"ssh -F none -tt {options} -i {keys}/user -p {port} 127.0.0.1")
    finally:
        server.terminate()
        server.wait(10)


@each_shell
def test_ssh_is_one_step(opened: Open, far: Far, name: str) -> None:
    rig = opened(name)
    command = f"{far.command} env PS1='far-away:' bash --norc --noprofile -i"
    rig.line(command)
    rig.expect("far-away:")
    rig.line("false; echo from $((40+2)); env | grep -c PMEM")
    rig.expect("from 42\r\n0\r\n")
    rig.expect("far-away:")
    assert count(rig, "finished") == 0
    rig.line("sleep 61")
    rig.for_a_while(0.5)
    rig.send("\x03")  # reaches the far command, not this side
    rig.expect("far-away:")
    finished = run(rig, "exit 6")
    assert (finished["command"], finished["exit_code"]) == (command, 6)
    assert "from 42" in finished["output"]
    assert run(rig, "echo back")["output"] == "back\n"


@each_shell
def test_an_input_method_sends_a_character_in_pieces(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.send("echo ")
    rig.for_a_while(0.2)
    for text in ("한국어 ", "日本語", "字"):
        for byte in text.encode():
            rig.send(bytes([byte]))
        rig.for_a_while(0.1)
    rig.send("\x7f")  # takes back one character of two cells
    rig.for_a_while(0.2)
    finished = run(rig, " done")
    assert finished["command"] == "echo 한국어 日本語 done"
    assert finished["output"] == "한국어 日本語 done\n"
