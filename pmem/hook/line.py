"""The shell lines that an agent's hook runs."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().with_name("client.py")
#: The client of an attached project; its path marks a hook line as pmem's.
ATTACHED = CLIENT.with_name("attached.py")
#: Set for an agent that pmem started, so that the hook of an attached project is silent in it.
HOOKED = "PMEM_HOOKED"
#: How long a plug-in waits for an answer, in seconds, where that is longer than by itself.
WAIT = "PMEM_WAIT"


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


def attached_command(agent: str, python: str | None = None) -> str:
    """The line for an agent's own settings, which stands there until the project is detached.

    The shell tells the agent's process id. Harmless once pmem is gone, as `hook_command`.
    """
    words = [python or sys.executable or "python3", "-ISE", os.fspath(ATTACHED), agent]
    return f'{shlex.join(words)} "$PPID" 2>/dev/null || exit 0'


def is_attached_command(command: object) -> bool:
    """Whether a hook line is one of `attached_command`, whoever's installation wrote it."""
    return isinstance(command, str) and "/pmem/hook/attached.py" in command
