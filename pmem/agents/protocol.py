"""The one protocol of all agent adapters: start it, read its events, answer it.

An adapter is the only place that knows an agent's formats. Adding an agent is adding a file,
a line in `registry.py` and a row in docs/agents.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pmem.core.event import Answer, Event


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start an agent under memory: the command line and what the environment adds."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    #: One line for the user about what was done to reach the agent, empty if nothing.
    remark: str = ""
    #: What is to be done when the agent has ended, before its private directory goes away.
    after: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class HookLine:
    """The shell command an agent's hook runs; `timeout` is the agent's limit in seconds.

    It ends in `|| exit 0`, so that a missing client never reads as a refusal.
    """

    command: str
    timeout: int = 10


class AgentAdapter(Protocol):
    """One agent CLI.

    `name` is the word by which its hooks name themselves, `binary` the program's file name.
    `tells` is False for programs whose actions pmem cannot see (`generic`); `can_hold` says that
    a proposed action can be put back with a reason, `shows` that the person sees a reminder on the
    agent's own screen (else it is told beside it). One object serves one session process: it
    may remember what an agent told before, as far as a later event leaves it out.
    """

    name: str
    title: str
    binary: str
    tells: bool
    can_hold: bool
    shows: bool

    def find(self, env: Mapping[str, str]) -> Path | None:
        """The installed program, on PATH or at its usual install place; None if there is none."""
        ...

    def launch(
        self,
        program: str,
        args: Sequence[str],
        hook: HookLine,
        run_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Launch:
        """Session-only configuration: the user's own hooks and settings stay in force.

        `run_dir` is a private directory of this session for files the agent must read; `env` and
        `cwd` are the agent's, those of this process by default.
        Raises ValueError with a sentence for the user if their arguments cannot be merged.
        """
        ...

    def events(self, payload: bytes) -> list[Event]:
        """A native hook payload as events, [] for one that concerns nobody.

        Raises ValueError if it cannot be read.
        """
        ...

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The native answer for the hook's stdout; b"" for silence.

        It is asked after every event: where an agent drops what is said before an action, a
        reminder waits for the action's result.
        """
        ...
