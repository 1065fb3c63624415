"""What a part of pmem needs besides, and how it is installed where this pmem runs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def how_to_install(extra: str, package: str) -> str:
    """The command that brings an extra's package into pmem's own environment, as it can be typed.

    install.sh keeps what it installed over upgrades; a package that pip puts into its environment
    is gone with the next one.
    """
    try:
        told = Path(sys.prefix, "pmem-source").read_text("utf-8")
    except (OSError, ValueError):
        return f"{shlex.quote(sys.executable)} -m pip install {package}"
    script = Path(told.partition("\n")[0], "install.sh")
    command = shlex.quote(str(script)) if script.is_file() else "./install.sh"
    where = "" if script.is_file() else "   (in a clone of pmem)"
    return f"{command} --with {extra}{where}"
