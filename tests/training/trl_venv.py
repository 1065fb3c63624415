"""TRL with a CPU build of torch in an environment of its own, kept from run to run.

pmem itself is not installed there: it is imported from this checkout.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from libraries import CACHE

CHECKOUT = Path(__file__).parents[2]
#: What the extra `train` is held to in the tests; torch without the gigabytes of CUDA.
TRL = "1.16.0"
TORCH = "2.13.0"
PINNED = ("transformers[serving]==5.24.0", "peft==0.21.2", "datasets==5.2.0", "openai>=2")
#: Where CPU builds are published, asked only where the registries here have none.
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
SECONDS = 500


def python() -> Path:
    """An interpreter with TRL, torch for CPUs and what pmem needs; skips where it cannot be had."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = CACHE / f"trl-{TRL}-torch-{TORCH}-{version}"
    told = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    # On macOS there is one build, and it is for CPUs.
    torch = f"torch=={TORCH}" + ("+cpu" if sys.platform == "linux" else "")
    wanted = [
        torch,
        f"trl=={TRL}",
        *PINNED,
        *told["dependencies"],
        *told["optional-dependencies"]["train"],
    ]
    stamp = place / "installed.json"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "trl.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        had = json.loads(stamp.read_text()) if stamp.exists() else None
        if had != wanted:
            stamp.unlink(missing_ok=True)  # what is killed from here on is made anew
            why = _made(place, wanted, anew=had is None)
            if why:
                pytest.skip(f"TRL {TRL} cannot be installed: {why}")
            stamp.write_text(json.dumps(wanted))
    return place / "bin" / "python"


def _made(place: Path, wanted: Sequence[str], *, anew: bool) -> str:
    """Makes the environment, or brings it up to date; why it could not be made."""
    if anew:
        venv = [sys.executable, "-m", "venv", "--clear", place]
        made = subprocess.run(venv, capture_output=True, text=True)
        if made.returncode:
            return made.stderr[-300:]
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", *wanted]
    for more in ([], ["--extra-index-url", CPU_BUILDS]):
        try:
            made = subprocess.run([*pip, *more], capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f"it took more than {SECONDS} seconds"
        if not made.returncode:
            return ""
    return made.stderr[-300:]


def environment(home: Path) -> dict[str, str]:
    """The variables for it: pmem from this checkout, a home of its own, nothing from a hub and
    nothing told to anybody."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TOKENIZERS_PARALLELISM": "false",
        # more threads wait for one another, which on a machine that is shared takes longer
        "OMP_NUM_THREADS": "1",
        # large blocks stay with the process: else each update fetches them from the kernel again
        "MALLOC_MMAP_THRESHOLD_": "1073741824",
        "MALLOC_TRIM_THRESHOLD_": "2147483648",
        "TERM": "xterm-256color",
        "CUDA_VISIBLE_DEVICES": "",
    }
