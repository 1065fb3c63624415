"""What the adapters of agents with hooks or plug-ins share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from pmem.agents.find import find_program
from pmem.core.event import Answer, Event


class Reader(Protocol):
    """Reads the payloads of one agent; it may remember what later ones leave out."""

    def events(self, payload: bytes) -> list[Event]:
        """What one payload told. Raises ValueError if it cannot be read."""
        ...

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """What stands on the hook's stdout, or what the plug-in gets; b"" for silence."""
        ...


class Hooked(ABC):
    """An agent whose hooks or plug-in a `reader` reads; `places` are its own places of install."""

    binary: str
    places: tuple[str, ...] = ()

    def find(self, env: Mapping[str, str]) -> Path | None:
        """On PATH, among its own places, or where package managers put programs."""
        return find_program(self.binary, env, self.places)

    def events(self, payload: bytes) -> list[Event]:
        """What one payload told. Raises ValueError if it cannot be read."""
        return self._reader.events(payload)

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """What the agent is answered; b"" for silence."""
        return self._reader.answer(payload, answer)

    @abstractmethod
    def reader(self) -> Reader:
        """A new reader. It is imported here: only the session process reads payloads."""

    @cached_property
    def _reader(self) -> Reader:
        return self.reader()


def options(args: Sequence[str]) -> Sequence[str]:
    """The arguments before a `--`, among which options stand."""
    return args[: args.index("--")] if "--" in args else args


def does_other_work(
    args: Sequence[str], subcommands: Container[str], questions: frozenset[str]
) -> bool:
    """Whether a command line does not work on a task here: it only asks, or has a subcommand."""
    return bool(args and args[0] in subcommands) or bool(questions.intersection(options(args)))
