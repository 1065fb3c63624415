"""scikit-learn in a directory of its own, kept from run to run."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCIKIT_LEARN = "1.9.1"
CACHE = Path(
    os.environ.get("PMEM_TEST_CACHE")
    or Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "pmem-tests"
)


def scikit_learn() -> dict[str, str]:
    """The variables with which Python finds it; skips where it cannot be had."""
    place = CACHE / f"scikit-learn-{SCIKIT_LEARN}-{sys.version_info.major}.{sys.version_info.minor}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "scikit-learn.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            new = place.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            made = subprocess.run(
                [sys.executable, "-m", "pip", "install", "-q", "--target", new,
                 f"scikit-learn=={SCIKIT_LEARN}"],
                capture_output=True,
                text=True,
            )  # fmt: skip
            if made.returncode:
                shutil.rmtree(new, ignore_errors=True)
                pytest.skip(f"scikit-learn cannot be installed: {made.stderr[-300:]}")
            new.rename(place)
    return {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(place)])}
