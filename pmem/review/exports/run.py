"""Run: a recorded session whole, with what was decided, as the exports need it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmem.core.step import Step
from pmem.store.session_log import STEPS, folder_of, read_decisions, read_steps


@dataclass(frozen=True, slots=True)
class Run:
    """A header, the steps, and the decisions in their order."""

    id: str
    header: Mapping[str, Any]
    steps: Sequence[Step]
    decisions: Sequence[Mapping[str, Any]] = ()

    @property
    def task(self) -> str:
        """What the agent was to do, "" if it is not known."""
        return str(self.header.get("task") or "")

    @property
    def agent(self) -> str:
        """Who did it."""
        return str(self.header.get("agent") or "unknown")

    def told(self) -> Iterator[tuple[Step, list[Mapping[str, Any]]]]:
        """Each step with what was decided before it; at the last one, what was decided after."""
        left = list(self.decisions)
        for n, step in enumerate(self.steps):
            last = n == len(self.steps) - 1
            here = [d for d in left if last or int(d.get("before_step", 0)) <= step.number]
            left = left[len(here) :]
            yield step, here


def load(place: Path) -> Run:
    """A session's directory, or a file of steps. Raises OSError if it cannot be read."""
    recording = read_steps(place)
    own = place.is_dir() or place.name == STEPS
    decisions = read_decisions(folder_of(place))[0] if own else []
    id = str(recording.header.get("session") or recording.header.get("id") or "")
    return Run(id or (place.name if place.is_dir() else place.stem), recording.header,
               recording.steps, decisions)  # fmt: skip
