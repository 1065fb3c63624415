"""aider, by the model proxy: it has no hooks.

Tested with 0.86.2. It offers its model no tools; what ran stands in the words it sends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.agents.find import find_program
from pmem.agents.proxied import Proxied

#: Arguments with which aider asks no model.
QUESTIONS = frozenset(
    {"--help", "-h", "--version", "--models", "--list-models", "--shell-completions"}
)


class Aider(Proxied):
    """Paul Gauthier's aider."""

    name = "aider"
    title = "aider"
    binary = "aider"
    tells = True

    def find(self, env: Mapping[str, str]) -> Path | None:
        """On PATH, or where pip, pipx, uv and its own installer put programs."""
        return find_program(self.binary, env)

    def only_asks(self, args: Sequence[str]) -> bool:
        """Questions may stand anywhere among its arguments."""
        return bool(QUESTIONS.intersection(args))


AIDER = Aider()
