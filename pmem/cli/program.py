"""Finding the program to start, and starting it without memory: exec, nothing in between."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from pmem.cli.exits import Exit, Trouble


def find_program(name: str, env: Mapping[str, str], cwd: Path) -> str:
    """The path of the file to execute, found as the shell would.

    Raises Trouble: 127 if there is none, 126 if it cannot be executed.
    """
    if os.sep in name:
        path = cwd / name
        if path.is_dir():
            raise Trouble(f"{name} is a directory", "name a program in it", Exit.NOT_EXECUTABLE)
        if not path.exists():
            raise Trouble(f"there is no file {name}", "check the path", Exit.NOT_FOUND)
        if not os.access(path, os.X_OK):
            raise Trouble(f"{name} is not executable", f"chmod +x {name}", Exit.NOT_EXECUTABLE)
        return name
    search = env.get("PATH", os.defpath)
    found = shutil.which(name, path=search)
    if found is not None:
        return found
    plain = shutil.which(name, mode=os.F_OK, path=search)
    if plain is not None:
        raise Trouble(f"{plain} is not executable", f"chmod +x {plain}", Exit.NOT_EXECUTABLE)
    raise Trouble(f"command not found: {name}", "check the name and PATH", Exit.NOT_FOUND)


def become(program: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> NoReturn:
    """Replace this process by the program, with the signals as Python found them.

    Raises Trouble (126, 127) if the system refuses.
    """
    for name in ("SIGPIPE", "SIGXFSZ"):  # ignored by Python, and that would be inherited
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.chdir(cwd)
        os.execve(program, list(argv), dict(env))
    except OSError as error:
        raise refused(argv[0], error) from None


def refused(name: str, error: OSError) -> Trouble:
    """The system's refusal to execute, in words."""
    reason = error.strerror or type(error).__name__
    if isinstance(error, FileNotFoundError):
        return Trouble(f"cannot start {name}: {reason}", "check the path", Exit.NOT_FOUND)
    return Trouble(
        f"cannot execute {name}: {reason}",
        "check that it is a program for this machine, or a script with a #! line",
        Exit.NOT_EXECUTABLE,
    )
