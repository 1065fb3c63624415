"""A memory agent that plays a script: for the demo, for tests of adapters, for trying things out.

A script is a JSON list of lines. A line says when it applies, and what it then does:

    [
      {"step": 2, "ops": [{"tool": "memory_save_knowledge", "id": "db", "content": "…",
                           "tags": ["build"]}]},
      {"command": "npm test*", "proposed": true,
       "say": {"text": "`npm test` failed at steps 1 and 2.", "sure": true}}
    ]

When (all that stand must hold): `step`, the number of the newest step (0 before the first);
`command`, a glob on the proposed command, or on the newest step's action where nothing is
proposed; `trigger`, as in `pmem.core.decision.Trigger`; `proposed`, whether an action is about
to run. Each line plays once, or `times` times (0: always).

What: `ops` are the paper's tools with their arguments (`memory_update_status`,
`memory_save_knowledge`, `memory_save_procedural`, `memory_delete`) and are played by phase 1;
`say` is played by phase 2: `text`, and optionally `entries` (ids), `sure`, `cause`. Without
`entries` it cites the attempts of the command at hand, else the newest entry of the bank.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pmem.core.bank import BankOp, Delete, SaveKnowledge, SaveProcedural, UpdateStatus
from pmem.core.decision import Decision, Reminder, Silence, Trigger
from pmem.core.moment import Moment
from pmem.core.signature import normal_form

_WHEN = {"step", "command", "trigger", "proposed", "times"}
_WHAT = {"ops", "say"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a script, checked."""

    step: int | None = None
    command: str | None = None
    trigger: Trigger | None = None
    proposed: bool | None = None
    times: int = 1
    ops: tuple[BankOp, ...] = ()
    say: Mapping[str, Any] | None = None

    def applies(self, moment: Moment) -> bool:
        """Whether all conditions hold."""
        newest = moment.last_step
        if self.step is not None and self.step != (newest.number if newest else 0):
            return False
        if self.trigger is not None and self.trigger is not moment.trigger:
            return False
        if self.proposed is not None and self.proposed is not (moment.proposed is not None):
            return False
        return self.command is None or any(
            fnmatchcase(text, self.command) for text in _at_hand(moment)
        )


@dataclass
class Scripted:
    """Plays a script; lines are tried in order, the first that says something is said."""

    lines: Sequence[Line]
    name: str = "scripted"
    _played: dict[tuple[str, int], int] = field(default_factory=dict)

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        """The operations of every line that applies."""
        ops: list[BankOp] = []
        for n, line in enumerate(self.lines):
            if line.ops and self._play("manage", n, line, moment):
                ops += line.ops
        return ops

    def decide(self, moment: Moment) -> Decision:
        """What the first line that applies says."""
        for n, line in enumerate(self.lines):
            if line.say is not None and self._play("decide", n, line, moment):
                return _reminder(line.say, n, moment)
        return Silence("the script says nothing here")

    def _play(self, phase: str, n: int, line: Line, moment: Moment) -> bool:
        played = self._played.get((phase, n), 0)
        if (line.times and played >= line.times) or not line.applies(moment):
            return False
        self._played[phase, n] = played + 1
        return True


def load_script(path: Path) -> Scripted:
    """Read a script. Raises ValueError with a sentence naming the file and the line at fault."""
    try:
        lines = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read the script {path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"the script {path} is not JSON: {error}") from error
    return Scripted(parse_script(lines, origin=str(path)))


def parse_script(lines: Any, *, origin: str = "the script") -> list[Line]:
    """Check a script's lines. Raises ValueError, see `load_script`."""
    if not isinstance(lines, list):
        raise ValueError(f"{origin} must be a JSON list of lines")
    checked = []
    for number, line in enumerate(lines, start=1):
        try:
            checked.append(_line(line))
        except ValueError as error:
            raise ValueError(f"{origin}, line {number}: {error}") from error
    return checked


def _line(line: Any) -> Line:
    if not isinstance(line, dict):
        raise ValueError("a line must be an object")
    unknown = line.keys() - _WHEN - _WHAT
    if unknown:
        raise ValueError(f"unknown key {min(unknown)!r}")
    if not line.keys() & _WHAT:
        raise ValueError("a line needs 'ops' or 'say'")
    for key, wanted in (("step", int), ("times", int), ("proposed", bool), ("command", str)):
        if key in line and type(line[key]) is not wanted:
            raise ValueError(f"{key!r} has the wrong type")
    say = line.get("say")
    if say is not None and not (isinstance(say, dict) and isinstance(say.get("text"), str)):
        raise ValueError("'say' needs the string 'text'")
    ops = line.get("ops", [])
    if not isinstance(ops, list):
        raise ValueError("'ops' must be a list")
    return Line(
        step=line.get("step"),
        command=line.get("command"),
        trigger=_trigger(line.get("trigger")),
        proposed=line.get("proposed"),
        times=line.get("times", 1),
        ops=tuple(_op(op) for op in ops),
        say=say,
    )


def _trigger(name: Any) -> Trigger | None:
    if name is None:
        return None
    try:
        return Trigger(name)
    except ValueError:
        known = ", ".join(Trigger)
        raise ValueError(f"unknown trigger {name!r}; known are {known}") from None


def _op(op: Any) -> BankOp:
    if not isinstance(op, dict):
        raise ValueError("an operation must be an object")
    arguments = {key: value for key, value in op.items() if key != "tool"}
    try:
        match op.get("tool"):
            case "memory_update_status":
                return UpdateStatus(**arguments)
            case "memory_save_knowledge":
                arguments["tags"] = tuple(arguments.get("tags", ()))
                return SaveKnowledge(**arguments)
            case "memory_save_procedural":
                return SaveProcedural(**arguments)
            case "memory_delete":
                return Delete(**arguments)
    except TypeError as error:
        raise ValueError(f"{op['tool']}: wrong arguments") from error
    raise ValueError(f"unknown tool {op.get('tool')!r}")


def _at_hand(moment: Moment) -> list[str]:
    if moment.proposed is not None:
        text = moment.proposed.text
    elif moment.last_step is not None:
        text = moment.last_step.action
    else:
        return []
    return [text, normal_form(text)]


def _reminder(say: Mapping[str, Any], n: int, moment: Moment) -> Reminder:
    entries = say.get("entries")
    if entries is None:
        entries = _entry_at_hand(moment)
    return Reminder(
        text=say["text"],
        entries=tuple(entries),
        reason="scripted",
        cause=str(say.get("cause", f"scripted:{n}")),
        sure=bool(say.get("sure", False)),
    )


def _entry_at_hand(moment: Moment) -> list[str]:
    forms = _at_hand(moment)
    for entry in reversed(moment.bank.procedural):
        if entry.command and entry.command in forms:
            return [entry.id]
    return list(moment.bank.entries)[-1:]
