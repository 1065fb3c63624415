"""`pmem init SHELL`: `pmem on`, `pmem off` and completion in an interactive shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from programs import starship
from rig import ROOT, Rig

from pmem.cli.init import LINES
from shells import RC, SHELLS, write_rc

pytestmark = pytest.mark.parametrize("name", SHELLS)

TERMINAL_MD = ROOT / "docs" / "terminal.md"

Started = Callable[..., Rig]


@pytest.fixture(autouse=True)
def there(name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is missing")


@pytest.fixture
def bin(tmp_path: Path) -> Path:
    """A directory with `pmem` in it, and with the programs a test puts there."""
    place = tmp_path / "bin"
    place.mkdir()
    program(place / "pmem", f'exec {sys.executable} -P -m pmem "$@"')
    return place


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def project(home: Path) -> Path:
    place = home / "project"
    (place / "sub dir").mkdir(parents=True)
    return place


@pytest.fixture
def started(bare: Started, bin: Path, home: Path, project: Path, name: str) -> Iterator[Started]:
    """The shell at its prompt, with the line of `pmem init` in its rc file, and `rc` behind it."""

    def start(rc: str = "", *, before: str = "", line: str | None = None) -> Rig:
        quiet = "set -g fish_greeting" if name == "fish" else ""
        write_rc(home, name, "\n".join([quiet, before, LINES[name] if line is None else line, rc]))
        env = {**os.environ, "LANG": "C.UTF-8", "NO_COLOR": "1", "SHELL": shutil.which(name) or ""}
        env["PATH"] = f"{bin}:/usr/local/bin:/usr/bin:/bin"
        env["TMPDIR"] = str(home)
        env["HISTFILE"] = str(home / "history")
        rig = bare(env["SHELL"], "-i", env=env, cwd=project)
        rig.expect("> ")
        return rig

    yield start


def say(rig: Rig, line: str, wanted: str) -> None:
    """Enter a line and wait for what it prints, and for the prompt behind it."""
    rig.line(line)
    rig.expect(wanted)
    rig.expect("> ")


def turn_on(rig: Rig, *options: str) -> None:
    say(rig, " ".join(["pmem", "on", *options]), r"pmem: rules · \d+ entr")


def steps(project: Path) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", "pmem", "log", "--json"],
        cwd=project,
        capture_output=True,
        text=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_on_records_here_and_off_goes_on_there(
    started: Started, project: Path, home: Path, name: str
) -> None:
    rig = started("SAVEHIST=1000" if name == "zsh" else "")
    # A fish takes in history that is at least a second old, as the docs say.
    aged = "sleep 1; " if name == "fish" else ""
    say(rig, f'{aged}echo "outside-$PMEM_ACTIVE"', "outside-\r\n")
    turn_on(rig)
    say(rig, f"{LIST[name]} | command grep 'd[e]-.PMEM'", 'echo "outside-')
    say(rig, 'echo "inside-$PMEM_ACTIVE"', "inside-1\r\n")
    say(rig, "cd 'sub dir'; pwd", "project/sub dir\r\n")
    rig.line(f"{aged}pmem off")
    rig.expect(r"pmem: 3 steps · ")
    rig.expect("> ")
    say(rig, f"{LIST[name]} | command grep 'sid[e]-.PMEM'", 'echo "inside-')
    say(rig, 'pwd; echo "off-$PMEM_ACTIVE"', "project/sub dir\r\noff-\r\n")
    say(rig, "pmem off; echo still here", "it is off\r\nstill here")
    assert [step["action"] for step in steps(project)][1:] == [
        'echo "inside-$PMEM_ACTIVE"',
        "cd 'sub dir'; pwd",
    ]
    assert list(home.glob("pmem-on*")) == []
    rig.line("exit 4")
    assert rig.wait() == 4


def test_what_is_defined_by_hand_goes_along_and_exit_hands_nothing_back(
    started: Started, name: str
) -> None:
    rig = started("theirs() { echo from rc; }" if name != "fish" else "")
    if name == "fish":
        define = "function mine; echo \"it's $argv\"; end; set -g kept 'two  words' three"
        show = "mine here; echo $kept[1]-$kept[2]"
    else:
        define = "mine() { echo \"it's $1\"; }; kept=('two  words' three); alias l='echo short'"
        first = 1 if name == "zsh" else 0
        show = f'mine here; echo "${{kept[{first}]}}-${{kept[{first + 1}]}}"; l; theirs'
    rig.line(define)
    rig.expect("> ")
    turn_on(rig)
    more = "" if name == "fish" else "short\r\nfrom rc\r\n"
    say(rig, show, f"it's here\r\ntwo  words-three\r\n{more}")
    say(rig, "cd 'sub dir'; pwd", "sub dir\r\n")
    rig.line("exit 3")
    rig.expect(r"pmem: \d steps · ")
    rig.expect("> ")
    status = "$status" if name == "fish" else "$?"
    say(rig, f"echo code {status}; pwd", "code 3\r\n[^\r]*/project\r\n")


#: How the whole history is listed.
LIST = {"bash": "history", "zsh": "history 1", "fish": "builtin history"}
STRICT = {"bash": "set -u", "zsh": "setopt no_unset ksh_arrays; precmd() { :; }", "fish": ""}


def test_read_twice_and_strictly_it_is_the_same_and_says_where_it_is_on(
    started: Started, name: str
) -> None:
    rig = started(LINES[name], before=STRICT[name])
    turn_on(rig)
    say(rig, "pmem on", "pmem: it is on\r\n")
    rig.line(name)
    rig.expect("> ")
    say(rig, "pmem on", "one step of that one")
    say(rig, "pmem off", "leave this one first")
    rig.line("exit")
    rig.expect("> ")
    rig.line("sleep 100 &")
    rig.expect("> ")
    say(rig, "pmem off", "jobs are left here")
    say(rig, "kill %1; wait; echo over", "over\r\n")
    rig.line("pmem off")
    rig.expect("pmem: [0-9]+ steps")
    rig.expect("> ")
    for word in (b"pmem-on", b"unbound", b"parameter not set"):
        assert word not in rig.output


def test_a_pmem_that_is_gone_leaves_the_line_silent(started: Started, bin: Path, name: str) -> None:
    (bin / "pmem").rename(bin / "gone")
    rig = started()
    rig.settle()
    assert b"\n" not in rig.output
    say(rig, "echo code $?" if name != "fish" else "echo code 0", "code 0\r\n")
    rig.line("exit")
    rig.wait()
    (bin / "gone").rename(bin / "pmem")
    rig = started()
    (bin / "pmem").rename(bin / "gone")
    rig.line("pmem status")
    rig.expect("(?i)pmem[^\r]*not found|Unknown command[^\r]*pmem|no such file")
    rig.expect("> ")


#: As docs/terminal.md has them: the last line of an rc file, and a prompt that tells.
ALWAYS = {
    "bash": """PS1='${PMEM_ACTIVE:+◉ }'$PS1\n[ -n "$PMEM_ACTIVE" ] || pmem on""",
    "zsh": "setopt prompt_subst; PS1='${PMEM_ACTIVE:+◉ }'$PS1\n"
    """[ -n "$PMEM_ACTIVE" ] || pmem on""",
    "fish": "function fish_prompt; set -q PMEM_ACTIVE; and printf '◉ '; printf '> '; end\n"
    "set -q PMEM_ACTIVE; or pmem on",
}


def test_every_terminal_can_be_recorded_and_its_prompt_tells(started: Started, name: str) -> None:
    rig = started(ALWAYS[name])
    assert any(line.startswith("◉ >") for line in rig.display())
    say(rig, "pmem on", "it is on")
    rig.line("pmem off")
    rig.expect("pmem: [0-9]+ steps?")
    rig.expect("> ")
    rig.settle()
    assert rig.display()[rig.display().index("") - 1] == ">"


def test_pmem_shell_is_left_by_off_without_the_line(started: Started, name: str) -> None:
    rig = started(line="")
    say(rig, f"pmem shell --shell {name}", r"pmem: rules · \d+ entr")
    rig.line("pmem off")
    rig.expect("pmem: 0 steps · ")
    rig.expect("> ")


def test_starship_shows_it(started: Started, home: Path, name: str) -> None:
    module = re.search(r"```toml\n(# starship.*?)```", TERMINAL_MD.read_text("utf-8"), re.S)
    assert module is not None
    (home / ".config").mkdir(exist_ok=True)
    (home / ".config" / "starship.toml").write_text(
        f'add_newline = false\nformat = "${{env_var.PMEM_ACTIVE}}> "\n{module[1]}'
    )
    pipe = f"{starship()} init fish | source"
    rig = started(pipe if name == "fish" else f'eval "$({starship()} init {name})"')
    turn_on(rig)
    rig.line("echo recorded")
    rig.expect("recorded\r\n")
    rig.until(lambda: rig.display().count("pmem >") == 1)
    assert "> pmem on" in rig.display()


def test_known_agents_are_functions_while_they_are_there(
    started: Started, bin: Path, name: str
) -> None:
    for agent in ("claude", "copilot", "codex"):
        program(bin / agent, f'echo "this is {agent} $1"')
    mine = "function codex; echo my own; end" if name == "fish" else "codex() { echo my own; }"
    rig = started(mine)
    turn_on(rig)
    say(rig, "claude hi", "this is claude --settings\r\n")
    say(rig, "command claude hi", "this is claude hi\r\n")
    if name == "zsh":
        say(
            rig,
            "setopt ksh_arrays; claude hi; unsetopt ksh_arrays",
            "this is claude --settings\r\n",
        )
    say(rig, "copilot deploy", "this is copilot deploy\r\n")  # another program of that name
    say(rig, "codex", "my own\r\n")
    program(bin / "qwen", "echo this is qwen")
    (bin / "claude").unlink()
    rig.line("true")
    rig.expect("> ")
    kind = "type -t" if name == "fish" else "whence -w" if name == "zsh" else "type -t"
    say(rig, f"{kind} qwen", "function\r\n")
    say(rig, f"{kind} claude; echo ended", "(?<!function)\r\nended\r\n|claude: none\r\nended")
    rig.line("pmem off")
    rig.expect("pmem: [0-9]+ steps?")
    rig.expect("> ")
    say(rig, "PMEM=off pmem on", "memory is switched off here")


def test_its_commands_are_completed(started: Started, bin: Path, name: str) -> None:
    program(bin / "claude", "true")
    rig = started("autoload -Uz compinit && compinit -u" if name == "zsh" else "")
    for typed, whole in (("pmem sta\t", "> pmem status"), ("pmem run clau\t", "> pmem run claude")):
        rig.send(typed)
        rig.until(lambda whole=whole: any(line.startswith(whole) for line in rig.display()))
        rig.send("\x15")
        rig.settle()


def test_what_a_program_alone_cannot_do_is_said(bin: Path, name: str) -> None:
    for command in ("on", "off"):
        done = subprocess.run(
            [bin / "pmem", command],
            env={**os.environ, "SHELL": f"/usr/bin/{name}"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert LINES[name] in done.stderr


def test_the_line_prints_what_the_shell_can_read(bin: Path, name: str, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run([bin / "pmem", "init", name], env=env, capture_output=True, check=True)
    assert not re.search(rb"\| +(click|pexpect|pathlib)\n", done.stderr)  # at each shell's start
    (tmp_path / "init").write_bytes(done.stdout)
    subprocess.run([name, "-n", tmp_path / "init"], check=True)
    silent = subprocess.run(
        [name, "-c", f". {tmp_path / 'init'}; echo done"], capture_output=True, text=True
    )
    assert (silent.stdout, silent.stderr) == ("done\n", "")
    assert RC[name][0]
