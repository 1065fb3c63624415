"""The agents pmem knows. Adding one is adding a file, a line here and a row in docs/agents.md.

An adapter is imported when it is first asked for: `pmem run CMD` needs none of them for a
program it does not know.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pmem.agents.protocol import AgentAdapter

#: By name, in the order in which a picker shows them: the program, and where the adapter stands.
PLACES = {
    "claude": ("claude", "claude_code:CLAUDE_CODE"),
    "codex": ("codex", "codex_cli:CODEX_CLI"),
    "gemini": ("gemini", "gemini_cli:GEMINI_CLI"),
    "qwen": ("qwen", "qwen_code:QWEN_CODE"),
    "opencode": ("opencode", "opencode:OPENCODE"),
    "copilot": ("copilot", "copilot_cli:COPILOT_CLI"),
    "pi": ("pi", "pi:PI"),
    "mini-swe-agent": ("mini", "mini_swe_agent:MINI_SWE_AGENT"),
    "aider": ("aider", "aider:AIDER"),
    "cline": ("cline", "cline:CLINE"),
    "scripted": ("pmem-scripted-agent", "scripted:SCRIPTED"),
    "generic": ("", "generic:GENERIC"),
}


#: What a person types to start one of them.
TYPED = tuple(
    dict.fromkeys(
        word
        for name, (binary, _) in PLACES.items()
        if name not in ("scripted", "generic")
        for word in (binary, name)
    )
)


#: Who speaks to a session and is no agent: none of these can be started.
SPEAKERS = {"pmem-proxy": "proxied:PROXIED"}


#: Agents that have no other way than the model proxy.
BY_PROXY = frozenset({"aider", "cline"})


#: Names that other programs have as well: what the path, or the script's text, must tell then.
SHARED_NAMES = {"copilot": "@github/copilot", "pi": "pi-coding-agent"}


class Adapters(Mapping[str, "AgentAdapter"]):
    """The adapters by name."""

    def __getitem__(self, name: str) -> AgentAdapter:
        place = SPEAKERS.get(name) or PLACES[name][1]
        module, _, adapter = place.partition(":")
        return cast("AgentAdapter", getattr(import_module(f"pmem.agents.{module}"), adapter))

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


ADAPTERS = Adapters()


def known(program: str) -> str:
    """The name of the adapter for a program as it was typed (a name or a path), else `generic`."""
    typed = os.path.basename(program)  # noqa: PTH119 (pathlib drops a trailing slash)
    for name, (binary, _) in PLACES.items():
        if typed and typed in (binary, name):
            return name
    return "generic"


def get(program: str) -> AgentAdapter:
    """The adapter for a program as it was typed (a name or a path), `generic` for any other."""
    return ADAPTERS[program if program in SPEAKERS else known(program)]


def surely(agent: str, program: Path) -> bool:
    """Whether a program that was found by its name alone is this agent, as far as can be told."""
    word = SHARED_NAMES.get(agent)
    if word is None or word in os.path.realpath(program):
        return True
    try:
        with program.open("rb") as file:
            start = file.read(4096)
    except OSError:
        return False
    return start.startswith(b"#!") and word.encode() in start


def installed(env: Mapping[str, str]) -> list[tuple[AgentAdapter, Path]]:
    """The agent CLIs found on this machine, on PATH or at their usual install places."""
    found = ((adapter, adapter.find(env)) for adapter in ADAPTERS.values())
    return [(adapter, path) for adapter, path in found if path is not None]
