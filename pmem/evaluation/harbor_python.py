"""The interpreter that has Harbor: it needs a newer Python than pmem does.

It is this one, the one that PMEM_HARBOR_PYTHON names, the one behind the command `harbor`, or a
`python3.12` and newer on PATH. Whichever it is must have pmem too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

NAMED = "PMEM_HARBOR_PYTHON"
_NEWER = ("python3.14", "python3.13", "python3.12", "python3")
#: How long an interpreter is waited for, in seconds.
_PATIENCE = 60.0
#: What is asked of one: Harbor's version, and whether pmem starts there.
_ASKED = """
import sys
from importlib.metadata import version
if sys.version_info < (3, 12):
    sys.exit(3)
try:
    print(version("harbor"))
except Exception:
    sys.exit(4)
try:
    import pmem.library, pmem.cli.main, anthropic, tree_sitter_bash
except ImportError:
    sys.exit(5)
"""


class NoHarbor(Exception):
    """No interpreter was found that has Harbor and pmem. Says what to do."""


@dataclass(frozen=True)
class Found:
    """An interpreter with Harbor, and Harbor's version."""

    python: str
    version: str


def find(env: Mapping[str, str]) -> Found:
    """The interpreter to run Harbor with, this one if it can. Raises NoHarbor."""
    without_pmem = ""
    for python in _candidates(env):
        code, said = _ask(python, env)
        if code == 0:
            return Found(python, said)
        if code == 5:
            without_pmem = without_pmem or python
        elif python == env.get(NAMED):
            why = {3: "is older than Python 3.12", 4: "has no Harbor"}.get(code, "does not start")
            raise NoHarbor(f"{NAMED} is {python}, which {why}")
    raise NoHarbor(_missing(without_pmem))


def _candidates(env: Mapping[str, str]) -> Iterator[str]:
    seen = set()
    path = env.get("PATH", os.defpath)
    for python in (
        env.get(NAMED) or sys.executable,
        _behind(shutil.which("harbor", path=path)),
        *(shutil.which(name, path=path) for name in _NEWER),
    ):
        if python and python not in seen:
            seen.add(python)
            yield python


def _behind(script: str | None) -> str:
    """The interpreter of an installed command, "" if that cannot be told."""
    if script is None:
        return ""
    try:
        with Path(script).open("rb") as file:
            first = file.readline(1000)
    except OSError:
        return ""
    python = os.fsdecode(first[2:].strip()) if first.startswith(b"#!/") else ""
    return python if Path(python).is_file() else ""


def _ask(python: str, env: Mapping[str, str]) -> tuple[int, str]:
    try:
        done = subprocess.run(
            [python, "-P", "-c", _ASKED],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            env=dict(env),
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return -1, ""
    return done.returncode, done.stdout.strip()


def _missing(without_pmem: str) -> str:
    from pmem.extra import how_to_install

    if without_pmem:
        return (
            f"{without_pmem} has Harbor but not pmem; install pmem there too,"
            f" or set {NAMED} to an interpreter that has both"
        )
    if sys.version_info >= (3, 12):
        return f"Harbor is not installed; install it: {how_to_install('harbor', 'harbor~=0.26.0')}"
    return (
        "Harbor needs Python 3.12 or newer, and this pmem runs on"
        f" {sys.version_info[0]}.{sys.version_info[1]}; install pmem on a newer one,"
        f" with Harbor: ./install.sh --python PATH --with harbor; or set {NAMED}"
        " to an interpreter that has both"
    )
