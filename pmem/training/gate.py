"""A gate from examples: one question for each speaker, one for the calls of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmem.core.gate import Gate
from pmem.training.examples import Example
from pmem.training.learn import Learned, learn

#: What is learned, by its name in tables: calls of a model, reminders it words, reminders of rules.
QUESTIONS = {"calls": ("ask", ""), "model": ("speak", "model"), "rules": ("speak", "rules")}


@dataclass(frozen=True, slots=True)
class Taught:
    """A gate, and of each question what it was learned from and how it did on runs left out."""

    gate: Gate
    learned: Mapping[str, Learned]
    runs: int
    keep: float

    def to_json(self) -> dict[str, Any]:
        """What `--json` and the gate's file tell of it."""
        told: dict[str, Any] = {"runs": self.runs, "keep": self.keep}
        for name, found in self.learned.items():
            told[name] = {
                "used": found.weights is not None,
                **({"why": found.why} if found.why else {}),
                **found.measured.to_json(),
            }
        return told


def teach(examples: Sequence[Example], *, keep: float = 0.8) -> Taught:
    """Learn every question that the examples can answer; a part that would not help is left out.

    `keep` is the share of what was worth it that shall be let through. Raises NoLibrary.
    """
    learned = {
        name: learn([e for e in examples if (e.question, e.speaker) == asked], keep=keep)
        for name, asked in QUESTIONS.items()
    }
    speak = {
        name: found.weights
        for name, found in learned.items()
        if name != "calls" and found.weights is not None
    }
    gate = Gate(speak, learned["calls"].weights)
    return Taught(gate, learned, len({e.run for e in examples}), keep)
