"""The agents that run on this machine: their processes, and the directories they work in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pmem.agents.registry import PLACES

#: Programs that run an agent's script: its name is their first argument.
INTERPRETERS = frozenset({"node", "bun", "deno", "python", "python3"})
#: Words behind a program's name that make it serve others instead of working on a task.
SERVERS = frozenset({"app-server", "exec-server", "mcp", "mcp-server", "serve"})


@dataclass(frozen=True, slots=True)
class Running:
    """A process of a known agent; `cwd` is "" where it cannot be found out."""

    agent: str
    pid: int
    cwd: str
    command: str


def running() -> list[Running]:
    """The agents of this user, the newest first; of an agent's several processes the outer one."""
    rows = {row[0]: row for row in _processes()}
    found = [(pid, ppid, name, args) for pid, ppid, args in rows.values() if (name := _agent(args))]
    named = {pid: name for pid, _, name, _ in found}
    return [
        Running(name, pid, _cwd(pid), args)
        for pid, ppid, name, args in sorted(found, reverse=True)
        if named.get(ppid) != name
    ]


def _processes() -> Iterator[tuple[int, int, str]]:
    words = ["ps", "-ww", "-U", str(os.getuid()), "-o", "pid=,ppid=,args="]
    listed = subprocess.run(words, capture_output=True, text=True, errors="replace")
    for line in listed.stdout.splitlines():
        parts = line.split(None, 2)
        if len(parts) == 3 and parts[0].isdecimal() and parts[1].isdecimal():
            yield int(parts[0]), int(parts[1]), parts[2]


def _agent(args: str) -> str:
    """The agent a command line starts, "" if it starts none."""
    words = args.split()[:3]
    names = [word.rpartition("/")[2].partition(".")[0] for word in words]
    if names and names[0] in INTERPRETERS:
        names = names[1:]
    if names[1:2] and names[1] in SERVERS:
        return ""
    return next((a for a, (binary, _) in PLACES.items() if binary and names[:1] == [binary]), "")


def _cwd(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        if os.path.exists("/proc/self/cwd"):  # noqa: PTH110
            return ""
    words = ["lsof", "-a", "-d", "cwd", "-p", str(pid), "-Fn"]
    try:
        told = subprocess.run(words, capture_output=True, text=True).stdout
    except OSError:
        return ""
    return next((line[1:] for line in told.splitlines() if line.startswith("n")), "")
