"""Cline's CLI, by the model proxy: its hooks are not called as it documents them.

Tested with 3.0.65.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.agents.find import find_program
from pmem.agents.hooked import does_other_work
from pmem.agents.proxied import Proxied

#: Words that make Cline do something else than work on a task here.
OTHER_WORK = frozenset(
    {
        *("auth", "config", "plugin", "skill", "connect", "mcp", "doctor", "history", "h", "hook"),
        *("schedule", "hub", "dashboard", "update", "version", "kanban", "--update", "--kanban"),
        "--acp",
    }
)
QUESTIONS = frozenset({"--help", "-h", "--version", "-V"})


class Cline(Proxied):
    """Cline's command line."""

    name = "cline"
    title = "Cline"
    binary = "cline"
    tells = True

    def find(self, env: Mapping[str, str]) -> Path | None:
        """On PATH, or among global node packages."""
        return find_program(self.binary, env)

    def only_asks(self, args: Sequence[str]) -> bool:
        """Its other work is named by the first word, a question may stand anywhere."""
        return does_other_work(args, OTHER_WORK, QUESTIONS)


CLINE = Cline()
