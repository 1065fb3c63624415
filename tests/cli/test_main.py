"""The command line as a whole: help, mistakes, exit codes."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from pmem import __version__
from pmem.cli.main import COMMANDS
from pmem.cli.main import pmem as commands
from pmem.store.project import find_project
from pmem.terminal.cells import width

Call = Callable[..., Any]


def test_the_help_names_every_command(pmem: Call) -> None:
    said = pmem("--help")
    assert said.code == 0
    for name in COMMANDS:
        assert f"  {name} " in said.out


def test_every_command_has_help_of_its_own(pmem: Call) -> None:
    for name in COMMANDS:
        said = pmem(name, "--help")
        assert (said.code, said.err) == (0, "")
        assert said.out.startswith(f"Usage: pmem {name}")


def all_commands(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """The words that lead to each command."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from all_commands(inner, *path, name)


def test_a_narrow_terminal_shows_all_help_unbroken(
    pmem: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    paths = list(all_commands(commands))
    assert len(paths) > 40
    for path in paths:
        for line in pmem(*path, "--help").out.splitlines():
            assert width(line) <= 80, (path, line)
            assert not line.endswith("..."), (path, line)


def test_the_version_is_told(pmem: Call) -> None:
    assert pmem("--version").out == f"pmem {__version__}\n"


def test_an_unknown_command_says_how_to_run_a_program_of_that_name(pmem: Call) -> None:
    said = pmem("make", "test")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "pmem: there is no command 'make'; to run a program of that name: pmem run -- make\n"
    )


def test_a_mistyped_command_is_named_as_it_was_meant(pmem: Call) -> None:
    assert "did you mean 'pmem status'?" in pmem("satus").err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--nonsense",), "no such option"),
        (("bank", "show"), "missing argument"),
        (("run",), "missing argument"),
        (("init",), "choose from: bash, zsh, fish"),
        (("run", "--interval", "0", "true"), "0 is not in the range"),
        (("run", "--interval", "many", "true"), "not a valid integer"),
        (("run", "--hold", "always", "true"), "not one of"),
        (("--task", "x", "bank", "list"), "--task is for starting a program"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_2(
    pmem: Call, args: tuple[str, ...], words: str
) -> None:
    said = pmem(*args)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("pmem: ")
    assert said.err.count("\n") == 1
    assert words in said.err.lower()


def test_plain_pmem_without_a_terminal_says_what_to_do(pmem: Call) -> None:
    said = pmem()
    assert (said.code, said.out) == (2, "")
    assert "there is no terminal" in said.err
    assert "pmem run -- " in said.err


def test_a_shell_without_a_terminal_says_what_to_do(pmem: Call) -> None:
    said = pmem("shell")
    assert said.code == 2
    assert "pmem run -- sh FILE" in said.err


def process(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    pmem = f"{sys.executable} -m pmem"
    return subprocess.run(
        ["bash", "-c", script.replace("@pmem", pmem)], cwd=cwd, capture_output=True, text=True
    )


def test_a_reader_that_has_seen_enough_is_no_error(project: Path) -> None:
    done = process("@pmem config --json | head -n 1; echo ${PIPESTATUS[0]}", project)
    assert done.stdout.splitlines()[0] == "{"
    assert done.stdout.splitlines()[1] in ("0", "141")
    assert done.stderr == ""


@pytest.mark.parametrize("args", ["config", "config --json", "--help", "bank list --json"])
def test_a_reader_that_is_gone_ends_it_as_sigpipe_would(project: Path, args: str) -> None:
    script = "{ sleep 0.5; @pmem " + args + "; echo $? >&2; } | true"  # `true` has ended by then
    assert process(script, project).stderr == "141\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_traceback(project: Path, closed: str) -> None:
    done = process(f"@pmem status {closed}; echo $? >&2", project)
    assert done.stderr.splitlines()[-1] == "0"
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_full_disk_is_said_in_one_line(project: Path) -> None:
    done = process("@pmem status > /dev/full", project)
    assert done.returncode == 125
    assert done.stderr == "pmem: No space left on device; PMEM_DEBUG=1 shows where\n"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_a_locale_that_lacks_a_character_is_no_error(project: Path, encoding: str) -> None:
    done = process(
        "@pmem bank add 한글 --id ko 2>/dev/null;"
        f" PYTHONIOENCODING={encoding} @pmem bank list --json",
        project,
    )
    assert json.loads(done.stdout)["knowledge"][0]["content"] == "한글"
    done = process(f"PYTHONIOENCODING={encoding} @pmem bank list", project)
    assert (done.returncode, done.stderr) == (0, "")


def test_ids_are_completed_by_the_shell(project: Path) -> None:
    done = process(
        "@pmem bank add One --id first 2>/dev/null; @pmem bank add Two --id second 2>/dev/null;"
        ' export _PMEM_COMPLETE=bash_complete COMP_WORDS="pmem bank show f" COMP_CWORD=3; @pmem',
        project,
    )
    assert done.stdout.split() == ["plain,first"]


@pytest.mark.parametrize(
    ("typed", "offered", "kept_out"),
    [
        ("pmem st", ["status"], []),
        ("pmem cla", ["claude"], []),
        ("pmem run cl", ["claude"], ["codex"]),
        ("pmem run --ar", ["--arm"], []),
        ("pmem run claude --ar", [], ["--arm"]),
        ("pmem claude --ar", [], ["--arm"]),
        ("pmem attach ", ["claude", "gemini"], ["codex"]),
        ("pmem doctor c", ["claude"], ["codex"]),
        ("pmem config int", ["interval"], ["arm"]),
        ("pmem log 2", ["20260102-030405-sh"], []),
        ("pmem init ", ["bash", "fish", "zsh"], []),
    ],
)
def test_the_shell_completes_what_there_is(
    project: Path, typed: str, offered: list[str], kept_out: list[str]
) -> None:
    (project / ".pmem").mkdir()
    (project / ".pmem" / "pmem.toml").touch()
    (project / "bin").mkdir()
    (project / "bin" / "claude").write_text("#!/bin/sh\n")
    (project / "bin" / "claude").chmod(0o755)
    (find_project(project, os.environ).state / "20260102-030405-sh").mkdir(parents=True)
    done = process(
        f'PATH={project}/bin:/usr/bin:/bin _PMEM_COMPLETE=bash_complete COMP_WORDS="{typed}"'
        f" COMP_CWORD={typed.count(' ')} @pmem",
        project,
    )
    found = [line.removeprefix("plain,") for line in done.stdout.splitlines()]
    assert set(offered) <= set(found), done
    assert not set(kept_out) & set(found)


def test_ctrl_c_lets_half_made_things_go_without_a_word(
    pmem: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []

    class HalfMade:
        def __del__(self) -> None:
            raise AttributeError("no attribute '_state'")

    def interrupted(*_: Any, **__: Any) -> None:
        half = HalfMade()  # alive in the frame until the interrupt is done with
        raise KeyboardInterrupt(half is None)

    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    monkeypatch.setattr("pmem.cli.main.pmem.main", interrupted)
    assert pmem("status").code == 130
    gc.collect()
    assert heard == []
