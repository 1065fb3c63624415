"""Start the user's shell so that it tells pmem of each command, with their rc files as always."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.terminal.shell_files import SHELLS, Missing, shell_files
from pmem.terminal.spawn import NOT_FOUND, CannotStart, find_program

#: What a shell asks of before a command runs, in the session's private directory.
GATE = "gate"


def shell_command(
    name: str | None,
    env: Mapping[str, str],
    run_dir: Path,
    nonce: str,
    *,
    login: bool = False,
    agents: Sequence[str] = (),
) -> tuple[list[str], dict[str, str]]:
    """The command line that starts a shell, and what its environment needs on top.

    `name` is a name or a path, None for the user's own ($SHELL, else the account's, else sh).
    A shell other than bash, zsh and fish is started as it is; pmem then sees no commands.
    `run_dir` gets the files the shell reads at its start. `agents` are the programs that are to
    join the session when they are typed. Raises CannotStart.
    """
    path = find_shell(name, env)
    match shell_kind(path):
        case "bash":
            return _bash(path, run_dir, nonce, login, agents)
        case "zsh":
            return _zsh(path, env, run_dir, nonce, login, agents)
        case "fish":
            return _fish(path, run_dir, nonce, login, agents)
    return [path, "-l"] if login else [path], {}


def find_shell(name: str | None, env: Mapping[str, str]) -> str:
    """The path of this shell, or of the user's own. Raises CannotStart if it is not there."""
    if name:
        return find_program(name, env)
    for candidate in (env.get("SHELL"), _account_shell()):
        if candidate:
            with contextlib.suppress(CannotStart):
                return find_program(candidate, env)
    return find_program("/bin/sh", env)


def shell_kind(path: str) -> str:
    """`bash`, `zsh` or `fish` by the program's name, "" for any other."""
    name = os.path.basename(path).lstrip("-")  # noqa: PTH119
    return name if name in SHELLS else ""


def shells_dir() -> Path:
    """Where pmem.bash, pmem.zsh and pmem.fish lie: in the wheel or in the checkout.

    Raises CannotStart if the installation has lost them.
    """
    try:
        return Path(shell_files())
    except Missing as missing:
        raise CannotStart(str(missing), NOT_FOUND) from None


def make_gate(run_dir: Path) -> Path:
    """The fifo on which a shell waits for leave to run a command."""
    gate = run_dir / GATE
    with contextlib.suppress(FileExistsError):
        os.mkfifo(gate, 0o600)
    return gate


def _account_shell() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        return ""


def _program() -> list[str]:
    """How this very pmem is called, whatever lies in the directory it is called from."""
    return [sys.executable or "python3", "-P", "-m", "pmem"]


def _bash(
    path: str, run_dir: Path, nonce: str, login: bool, agents: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    rc = run_dir / "rc.bash"
    lines = [
        _BASH_LOGIN if login else _BASH_RC,
        f"__pmem_nonce={nonce}",
        f"__pmem_dir={_quote(run_dir)}",
        f"__pmem_gate={_quote(make_gate(run_dir))}",
        f"__pmem_program=({shlex.join(_program())})",
        f"__pmem_agents=({shlex.join(agents)})",
        f"command rm -f -- {_quote(rc)}",
        f"declare -F pmem >/dev/null || . {_quote(shells_dir() / 'init.bash')}",
        f". {_quote(shells_dir() / 'pmem.bash')}",
    ]
    _write_private(rc, "\n".join(lines) + "\n")
    return [path, "--rcfile", os.fspath(rc), "-i"], {}


_BASH_RC = "if [ -r ~/.bashrc ]; then . ~/.bashrc; fi"

#: bash reads no rcfile as a login shell, so this one reads what a login shell would.
_BASH_LOGIN = """\
if [ -r /etc/profile ]; then . /etc/profile; fi
for __pmem_r in ~/.bash_profile ~/.bash_login ~/.profile; do
    if [ -r "$__pmem_r" ]; then . "$__pmem_r"; break; fi
done"""


def _zsh(
    path: str,
    env: Mapping[str, str],
    run_dir: Path,
    nonce: str,
    login: bool,
    agents: Sequence[str],
) -> tuple[list[str], dict[str, str]]:
    directory = run_dir / "zsh"
    directory.mkdir(mode=0o700, exist_ok=True)
    lines = [
        f"typeset -g __pmem_nonce={nonce}",
        f"typeset -g __pmem_gate={_quote(make_gate(run_dir))}",
        f"typeset -g __pmem_shells={_quote(shells_dir())}",
        f"typeset -ga __pmem_program=({shlex.join(_program())})",
        f"typeset -ga __pmem_agents=({shlex.join(agents)})",
        f"command rm -f -- {_quote(directory / '.zshenv')}",
        f"ZDOTDIR={_quote(env['ZDOTDIR'])}" if "ZDOTDIR" in env else "unset ZDOTDIR",
        "if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then",
        "    source ${ZDOTDIR:-$HOME}/.zshenv",
        "fi",
        f"source {_quote(shells_dir() / 'pmem.zsh')}",
    ]
    _write_private(directory / ".zshenv", "\n".join(lines) + "\n")
    argv = [path, "-i", "-l"] if login else [path, "-i"]
    return argv, {"ZDOTDIR": os.fspath(directory)}


def _fish(
    path: str, run_dir: Path, nonce: str, login: bool, agents: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    start = run_dir / "start.fish"
    lines = [
        f"set -g __pmem_nonce {nonce}",
        f"set -g __pmem_program {' '.join(map(_quote_fish, _program()))}",
        f"set -g __pmem_agents {' '.join(map(_quote_fish, agents))}",
        f"command rm -f -- {_quote_fish(start)}",
        f"functions -q pmem; or source {_quote_fish(shells_dir() / 'init.fish')}",
        f"source {_quote_fish(shells_dir() / 'pmem.fish')}",
    ]
    _write_private(start, "\n".join(lines) + "\n")
    argv = [path, "-i", "--init-command", f"source {_quote_fish(start)}"]
    return [*argv, "-l"] if login else argv, {}


def _write_private(path: Path, text: str) -> None:
    """A file only the user can read, whatever the umask."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _quote(value: object) -> str:
    return shlex.quote(str(value))


def _quote_fish(value: object) -> str:
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
