"""`pmem eval tb2` in Harbor's interpreter: the bundled task in a layered root, scripted models."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from benches import program_of
from harbor_models import MEMORY
from harbors import QUIET, interpreter
from tau2s import DRIVER
from venvs import CHECKOUT

HERE = Path(__file__).parent
TASK = HERE / "harbor_tasks" / "build-it"
#: In place of the installer that an adapter calls in its environment, where all is there already.
UV = """#!/bin/sh
if [ "$1 $2" = "tool list" ]; then echo "mini-swe-agent v2.4.6"; fi
"""
KEY = "loopback-key-that-opens-nothing"


def needs_layers() -> None:
    """Skips with a word where there can be no layered root, or what the task needs is missing."""
    lacking = [p for p in ("unshare", "nsenter", "setpriv", "tmux") if shutil.which(p) is None]
    if os.geteuid() != 0:
        pytest.skip("a layered root can be made by root only")
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed")
    with tempfile.TemporaryDirectory() as root:
        words = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork"]
        words += ["--kill-child", "sh", str(HERE / "overlay.sh"), root]
        tried = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert tried.stdout is not None and tried.stderr is not None
        made = tried.stdout.readline() == b"ready\n"
        tried.kill()
        said = tried.stderr.read().decode(errors="replace").strip()
        tried.wait()
    if not made:
        pytest.skip(f"no layered root can be made here: {said}")


def command(arm: str, home: Path, *more: str, to: str = "") -> list[str]:
    """`pmem eval tb2` with an arm ("pure" is one here), the bundled task and the layered root."""
    script = home / "memory.json"
    script.write_text(json.dumps(MEMORY))
    words = ["eval", "tb2", "--arm", "selective" if arm == "pure" else arm, "--interval", "1"]
    words += ["--pure"] if arm == "pure" else []
    words += ["--memory-model", f"scripted:{script}"] if arm not in ("off", "rules") else []
    words += ["--action-model", "openai:actor", "--path", str(TASK), "--to", to or arm]
    words += ["--env", "overlay:Overlay", *more]
    words += [] if "--" in more else ["--"]
    return [*words, "--ek", f"shown={','.join(elsewhere())}"]


def elsewhere() -> list[str]:
    """Directories that the layered root lacks, for they lie on another mount than `/`."""
    mini = program_of("mini")
    needed = {mini.parent.parent, (mini.parent / "python").resolve().parent.parent}
    device = Path("/").stat().st_dev
    return sorted(str(path) for path in needed if path.stat().st_dev != device)


def image(home: Path) -> Path:
    """Files for an environment in which mini-swe-agent is installed."""
    place = home / "image" / "usr" / "local" / "bin"
    place.mkdir(parents=True)
    mini = f'#!/bin/sh\nexec {program_of("mini")} "$@"\n'
    for name, text in {"uv": UV, "mini-swe-agent": mini}.items():
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    return home / "image"


def variables(url: str, home: Path) -> dict[str, str]:
    """The environment of a run."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": f"{CHECKOUT}:{HERE}",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": KEY,
        **QUIET,
    }


def run(
    commands: Sequence[Sequence[str]], url: str, home: Path
) -> subprocess.CompletedProcess[str]:
    """Commands of pmem, one after the other, with the models at `url`."""
    return subprocess.run(
        [interpreter(), "-c", f"COMMANDS = {list(map(list, commands))!r}\n{DRIVER}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=home,
        timeout=280,
        env=variables(url, home),
    )
