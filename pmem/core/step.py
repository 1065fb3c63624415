"""Step and Action: one thing the action agent did, or is about to do.

The JSON form is the neutral line that `steps.jsonl`, replay and the benchmark share:
`step, kind, action, observation` are required, everything else is optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

#: What a step can be. The first four act; the others carry words.
KINDS = ("command", "edit", "read", "tool", "message", "user", "compaction")
ACTING_KINDS = frozenset({"command", "edit", "read", "tool"})

#: Stands in place of a command that its user kept out of the history.
PRIVATE = "(private command)"


@dataclass(frozen=True, slots=True)
class Action:
    """A proposed action: what is about to run, before its observation exists."""

    kind: str
    text: str
    cwd: str | None = None
    tool: str = ""
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One action and its observation.

    `started` is in Unix seconds, `seconds` is the duration, `exit_code` is None where the
    agent does not tell it, `refused` marks a call the user turned down (never a failure),
    `turn` groups calls that were sent in parallel.
    """

    number: int
    kind: str
    action: str
    observation: str
    exit_code: int | None = None
    cwd: str | None = None
    started: float | None = None
    seconds: float | None = None
    thought: str = ""
    call_id: str | None = None
    tool: str = ""
    is_error: bool | None = None
    refused: bool = False
    turn: int | None = None
    agent_id: str | None = None

    @property
    def ended(self) -> float | None:
        """Unix seconds at which the observation was complete, None if unknown."""
        if self.started is None:
            return None
        return self.started + (self.seconds or 0.0)

    @property
    def proposed(self) -> Action:
        """The step as it looked before it ran."""
        return Action(self.kind, self.action, self.cwd, self.tool, self.call_id)

    def to_json(self) -> dict[str, Any]:
        """The neutral line; fields at their default are left out."""
        line: dict[str, Any] = {
            "step": self.number,
            "kind": self.kind,
            "action": self.action,
            "observation": self.observation,
        }
        for field in fields(self)[4:]:
            value = getattr(self, field.name)
            if value != field.default:
                line[field.name] = value
        return line

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Step:
        """Read the neutral line; unknown keys are ignored.

        Raises ValueError naming the key that is missing or of the wrong type.
        """
        for key in ("step", "kind", "action", "observation"):
            if key not in line:
                raise ValueError(f"a step needs the key {key!r}")
        number = line["step"]
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError("'step' must be a whole number")
        for key in ("kind", "action", "observation"):
            if not isinstance(line[key], str):
                raise ValueError(f"{key!r} must be a string")
        known = {f.name for f in fields(cls)[4:]}
        optional = {k: v for k, v in line.items() if k in known and v is not None}
        for key, value in optional.items():
            if not isinstance(value, _OPTIONAL_TYPES[key]):
                raise ValueError(f"{key!r} has the wrong type: {type(value).__name__}")
        return cls(number, line["kind"], line["action"], line["observation"], **optional)


_OPTIONAL_TYPES: dict[str, type | tuple[type, ...]] = {
    "exit_code": int,
    "cwd": str,
    "started": (int, float),
    "seconds": (int, float),
    "thought": str,
    "call_id": str,
    "tool": str,
    "is_error": bool,
    "refused": bool,
    "turn": int,
    "agent_id": str,
}
