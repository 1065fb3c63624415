"""What the tests of install.sh share: clones, environments, and the script itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent
NOT_CLONED = (".git", ".venv", ".pmem", "dist", "build", "__pycache__", ".*_cache", ".hypothesis")
OURS = ("PMEM", "XDG_", "CLAUDE", "ANTHROPIC", "OPENAI", "GEMINI", "CODEX", "PYTEST")

#: A package as small as one can be, for what does not depend on pmem itself.
SMALL = {
    "pyproject.toml": """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
""",
    "backend.py": """
import pathlib, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "pmem-1.0-py3-none-any.whl"
    info = "pmem-1.0.dist-info/"
    with zipfile.ZipFile(pathlib.Path(directory, name), "w") as wheel:
        for file in ("__init__.py", "__main__.py"):
            wheel.write(f"pmem/{file}")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: pmem\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\n"
                                       "Root-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\npmem = pmem:main\\n")
        wheel.writestr(info + "RECORD", "")
    return name
""",
    "pmem/__init__.py": """
import os, sys

def main():
    print("small", os.getcwd(), *sys.argv[1:])
""",
    "pmem/__main__.py": "print('pmem 1.0')\n",
    "shells/pmem.bash": "",
}


def clone(target: Path) -> Path:
    """The checkout as git would bring it: sources, no environment, no caches."""
    shutil.copytree(CHECKOUT, target, ignore=shutil.ignore_patterns(*NOT_CLONED), symlinks=True)
    return target


def small(target: Path) -> Path:
    """install.sh beside the small package."""
    for name, text in SMALL.items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.lstrip())
    shutil.copy(CHECKOUT / "install.sh", target)
    return target


def environment(home: Path | None, **more: str) -> dict[str, str]:
    """What a login shell has, with this HOME, and the machine's own settings of pip."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OURS) and k != "VIRTUAL_ENV"}
    kept.pop("HOME", None)
    kept["PATH"] = os.pathsep.join(
        part for part in kept["PATH"].split(os.pathsep) if not part.startswith(str(CHECKOUT))
    )
    if home is not None:
        kept["HOME"] = str(home)
    return {**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **more}


def install(
    script: Path, *args: str, env: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(script), *args],
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )


def tree(root: Path) -> list[str]:
    """Every file, link and directory below, compiled code apart."""
    return sorted(
        str(p.relative_to(root))
        for p in root.rglob("*")
        if p.suffix != ".pyc" and p.name != "__pycache__"
    )


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
