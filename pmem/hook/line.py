"""The shell line that an agent's hook runs, fixed when the session starts."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().with_name("client.py")


def hook_command(
    agent: str,
    python: str | None = None,
    client: str | os.PathLike[str] = CLIENT,
    seconds: float | None = None,
) -> str:
    """The line for /bin/sh, with absolute paths, that tells the session about one event.

    `agent` is the adapter's name, `python` the interpreter (this one by default), `seconds` the
    client's limit where it is not its own. The line exits 0 and prints nothing when the client
    or the interpreter is gone, since agents read other exit codes as a refusal.
    """
    words = [python or sys.executable or "python3", "-ISE", os.fspath(client), agent]
    if seconds is not None:
        words.append(f"{seconds:g}")
    return f"{shlex.join(words)} 2>/dev/null || exit 0"
