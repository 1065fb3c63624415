"""The program to start: found as the shell would, or become, with nothing in between."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from pmem.cli.exits import Trouble
from pmem.terminal import spawn


def find_program(name: str, env: Mapping[str, str], cwd: Path) -> str:
    """The path of the file to execute. Raises Trouble: 127 if there is none, 126 if it is none
    that can be executed.
    """
    try:
        return spawn.find_program(name, env, os.fspath(cwd))
    except spawn.CannotStart as problem:
        raise Trouble(str(problem), code=problem.exit_code) from None


def become(argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> NoReturn:
    """Replace this process by the program, with the signals as they were before Python.

    Raises Trouble (126, 127) if the system refuses.
    """
    path = find_program(argv[0], env, cwd)
    spawn.reset_signals()
    try:
        os.chdir(cwd)
        spawn.execute(path, argv, env)
    except OSError as error:
        problem = spawn.cannot_execute(argv[0], error)
        raise Trouble(str(problem), code=problem.exit_code) from None
    raise AssertionError("execve came back")
