"""Environments with what a benchmark needs, each of its own and kept from run to run."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from review.browsers import CACHE

CHECKOUT = Path(__file__).parent.parent.parent


def interpreter(name: str, *packages: str, python: str = sys.executable) -> Path:
    """The Python of an environment with these packages and what pmem needs; skips without them.

    It is made with `python`.
    """
    place = CACHE / name
    told = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*packages, *told["dependencies"]]
    stamp = place / "installed.json"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or json.loads(stamp.read_text()) != wanted:
            made = subprocess.run([python, "-m", "venv", place])
            pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", *wanted]
            if made.returncode or subprocess.run(pip, capture_output=True).returncode:
                pytest.skip(f"{' and '.join(packages)} could not be installed")
            stamp.write_text(json.dumps(wanted))
    return place / "bin" / "python"
