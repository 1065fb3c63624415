"""A home for one session of Gemini CLI: the user's own, with pmem's hooks beside it.

Gemini CLI has no option for hooks, and takes a settings file from elsewhere only if root owns it.
But it loads the hooks of its extensions, and GEMINI_CLI_HOME says where those are. So the session
gets a directory of links to everything in the user's `~/.gemini`, and one extension more. What is
written goes through the links; what replaces one, or is new, is brought home at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

EXTENSION = "pmem-session"
#: Directories that Gemini CLI makes at once where they are missing, and those it may read.
ITS_OWN = ("tmp", "history")
BESIDE = (".agents",)


def borrow(home: Path, place: Path, hooks: Mapping[str, Any]) -> None:
    """Make `place` a home like `home`, with an extension that holds these hooks.

    Raises OSError if it cannot be made.
    """
    real, made = home / ".gemini", place / ".gemini"
    extension = made / "extensions" / EXTENSION
    (extension / "hooks").mkdir(parents=True)
    for name in ITS_OWN:
        (real / name).mkdir(parents=True, exist_ok=True)
    for entry in real.iterdir():
        if entry.name == "extensions" and entry.is_dir():
            for one in entry.iterdir():
                (made / "extensions" / one.name).symlink_to(one)
        else:
            (made / entry.name).symlink_to(entry)
    for name in BESIDE:
        if (home / name).exists():
            (place / name).symlink_to(home / name)
    manifest = {"name": EXTENSION, "version": "1.0.0"}
    (extension / "gemini-extension.json").write_text(json.dumps(manifest), "utf-8")
    (extension / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}), "utf-8")


def give_back(home: Path, place: Path) -> None:
    """Bring home what the session wrote anew; never raises.

    A file that stands in both is taken from where it was written last.
    """
    real, made = home / ".gemini", place / ".gemini"
    for path in _new(made):
        target = real / path.relative_to(made)
        with contextlib.suppress(OSError):
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, target)
            elif path.is_file() and path.stat().st_mtime >= target.stat().st_mtime:
                beside = target.with_name(f"{target.name}.{os.getpid()}.tmp")
                shutil.copy2(path, beside)
                beside.replace(target)


def _new(made: Path) -> Iterator[Path]:
    """The entries of the session's home that are neither links nor ours."""
    extensions = made / "extensions"
    for directory in (made, extensions):
        try:
            entries = sorted(directory.iterdir())
        except OSError:
            continue
        for entry in entries:
            if not entry.is_symlink() and entry not in (extensions, extensions / EXTENSION):
                yield entry
