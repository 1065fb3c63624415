"""The agents pmem knows. Adding one is adding a file, a line here and a row in docs/agents.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath

from pmem.agents.claude_code import CLAUDE_CODE
from pmem.agents.generic import GENERIC
from pmem.agents.protocol import AgentAdapter
from pmem.agents.scripted import SCRIPTED

#: Adapters by name, in the order in which a picker shows them.
ADAPTERS: dict[str, AgentAdapter] = {
    adapter.name: adapter for adapter in (CLAUDE_CODE, SCRIPTED, GENERIC)
}


def get(program: str) -> AgentAdapter:
    """The adapter for a program as it was typed (a name or a path), `generic` for any other."""
    name = PurePath(program).name
    for adapter in ADAPTERS.values():
        if name and name in (adapter.binary, adapter.name):
            return adapter
    return GENERIC


def installed(env: Mapping[str, str]) -> list[tuple[AgentAdapter, Path]]:
    """The agent CLIs found on this machine, on PATH or at their usual install places."""
    found = ((adapter, adapter.find(env)) for adapter in ADAPTERS.values())
    return [(adapter, path) for adapter, path in found if path is not None]
