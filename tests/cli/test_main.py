"""The command line as a whole: help, mistakes, exit codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pmem import __version__
from pmem.cli.main import COMMANDS

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
