"""Where an agent's program is: on PATH, or where its installers usually put it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

#: Install places outside of most people's PATH in a bare login: `~` is the user's home.
USUAL = (
    "~/.local/bin",
    "~/bin",
    "~/.npm-global/bin",
    "~/.npm/bin",
    "~/.volta/bin",
    "~/.bun/bin",
    "~/.local/share/pnpm",
    "~/Library/pnpm",
    "~/.yarn/bin",
    "~/.nvm/versions/node/*/bin",
    "~/.local/share/fnm/node-versions/*/installation/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
)


def find_program(name: str, env: Mapping[str, str], first: Iterable[str] = ()) -> Path | None:
    """The program by PATH, then in the agent's own places, then in the usual ones.

    Of several versions side by side the newest directory name wins. None if it is nowhere.
    """
    on_path = shutil.which(name, path=env.get("PATH", os.defpath))
    if on_path is not None:
        return Path(on_path)
    prefix = env.get("NPM_CONFIG_PREFIX") or env.get("npm_config_prefix")
    places = [*first, *([f"{prefix}/bin"] if prefix else []), *USUAL]
    for place in places:
        for directory in _directories(place, env.get("HOME", "")):
            program = directory / name
            if program.is_file() and os.access(program, os.X_OK):
                return program
    return None


def _directories(place: str, home: str) -> list[Path]:
    if place.startswith("~/"):
        if not home:
            return []
        place = home + place[1:]
    before, star, after = place.partition("/*/")
    if not star:
        return [Path(place)]
    try:
        versions = sorted(Path(before).iterdir(), key=lambda p: _version(p.name), reverse=True)
    except OSError:
        return []
    return [version / after for version in versions]


def _version(name: str) -> tuple[tuple[int, str], ...]:
    """Sort key: numbers as numbers, so that v9 stands before v22."""
    parts = "".join(c if c.isdigit() else " " for c in name).split()
    return tuple((int(part), "") for part in parts)
