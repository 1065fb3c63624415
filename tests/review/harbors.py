"""Harbor in an environment of its own (Python 3.12 or newer), beside what pmem needs there."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from venvs import interpreter as made

HARBOR = "0.26.0"
#: No word of it goes out, and no price list is asked for.
QUIET = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
VALIDATE = """
import json, sys
from harbor.utils.trajectory_validator import TrajectoryValidator
wrong = {}
for path in sys.argv[1:]:
    validator = TrajectoryValidator()
    if not validator.validate(path):
        wrong[path] = validator.get_errors()
print(json.dumps(wrong))
"""


def refused(paths: Sequence[Path]) -> dict[str, list[str]]:
    """The trajectories Harbor does not accept, with its reasons; skips where it cannot be had."""
    done = subprocess.run(
        [interpreter(), "-c", VALIDATE, *paths],
        capture_output=True,
        text=True,
        timeout=300,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **QUIET},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


def interpreter() -> Path:
    """An interpreter with Harbor and what pmem needs; skips where it cannot be had."""
    python = _python()
    if python is None:
        pytest.skip("Harbor needs Python 3.12 or newer, which is not installed")
    return made(f"harbor-{HARBOR}", f"harbor=={HARBOR}", python=python)


def _python() -> str | None:
    """An interpreter new enough that really starts (a version manager's stand-in may not)."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    managed = sorted(map(str, home.glob(".pyenv/versions/3.1[2-9]*/bin/python3")))
    for name in ("python3.14", "python3.13", "python3.12", *managed):
        found = shutil.which(name)
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    return None
