"""Held out: recorded memory steps played anew by a model, set beside what was recorded.

A conversation begins as it was recorded. What the model answers in phase 1 is carried out (on an
empty bank, so an entry that only the recorded one had cannot be deleted), and phase 2 goes on from
there: its decision is its own throughout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmem.core.bank import MemoryBank
from pmem.memory.model.parse import TextCall, parse_tool_calls, says_nothing, without_thoughts
from pmem.memory.model.tools import carry_out, tools
from pmem.memory.prompts import load_prompts
from pmem.training.calls import NO_CALL, Turn, reply_turn
from pmem.training.data_set import Row, decided
from pmem.training.rows import Kind, kind_of, messages_of

Conversation = Sequence[Mapping[str, Any]]
#: The answer of a model to each of some conversations.
Answer = Callable[[Sequence[Conversation]], Sequence[str]]

_OPENED = re.compile(r"<tool_call>", re.IGNORECASE)
_FUNCTION = re.compile(r"<function=", re.IGNORECASE)
_TYPES = {"string": str, "array": list, "object": dict}


@dataclass(frozen=True, slots=True)
class Anew:
    """A memory step played anew: both answers (the second "" where the first was the decision), and
    what was recorded."""

    manage: str
    decide: str
    recorded: Kind

    @property
    def decision(self) -> Kind | None:
        """What the model decided; None if it cannot be read."""
        return kind_of(self.decide or self.manage)

    @property
    def calls_valid(self) -> bool:
        """Whether the answer of phase 1 has the form of one."""
        return well_formed(self.manage)


def play_anew(rows: Sequence[Row], answer: Answer) -> list[Anew]:
    """Both phases of each row, played by a model."""
    openings = [row["messages"][:2] for row in rows]
    first = answer(openings)
    on = [n for n, text in enumerate(first) if not _ends(text)]
    talks = [_second(rows[n], openings[n], first[n]) for n in on]
    second = dict(zip(on, answer(talks) if talks else (), strict=True))
    return [
        Anew(text, second.get(n, ""), decided(row))
        for n, (row, text) in enumerate(zip(rows, first, strict=True))
    ]


def figures(played: Sequence[Anew]) -> dict[str, Any]:
    """The figures of some memory steps, shares in [0, 1] and None where there is nothing to share.

    `valid`: both answers can be read. `agreement`: the same decision as recorded; one that cannot
    be read agrees with none. `silent_agreement`: what a model earns that never speaks.
    `precision` and `recall`: of reminders for the next action.
    """
    spoke = [one.decision == "reminder" for one in played]
    wanted = [one.recorded == "reminder" for one in played]
    both = sum(a and b for a, b in zip(spoke, wanted, strict=True))
    total = len(played)
    return {
        "rows": total,
        "calls_valid": _share(sum(one.calls_valid for one in played), total),
        "decisions_valid": _share(sum(one.decision is not None for one in played), total),
        "valid": _share(sum(o.calls_valid and o.decision is not None for o in played), total),
        "agreement": _share(sum(one.decision == one.recorded for one in played), total),
        "silent_agreement": _share(sum(one.recorded == "silence" for one in played), total),
        "reminders": sum(spoke),
        "reminders_recorded": sum(wanted),
        "precision": _share(both, sum(spoke)),
        "recall": _share(both, sum(wanted)),
        "calls": sum(len(parse_tool_calls(one.manage)) for one in played),
    }


def well_formed(text: str) -> bool:
    """Whether an answer of phase 1 is what its prompt asks for: calls of the tools that are there,
    each with the arguments it needs, or none and silence."""
    said = without_thoughts(text)
    calls = parse_tool_calls(said)
    if not calls:
        return _ends(said) or said.strip() == NO_CALL
    written = max(len(_OPENED.findall(said)), len(_FUNCTION.findall(said)))
    return len(calls) == written and all(map(_fits, calls))


def _fits(call: TextCall) -> bool:
    tool = next((tool for tool in tools() if tool.name == call.name), None)
    if tool is None or not set(tool.parameters["required"]) <= call.arguments.keys():
        return False
    known = tool.parameters["properties"]
    return all(
        name in known and isinstance(value, _TYPES[known[name]["type"]])
        for name, value in call.arguments.items()
    )


def _ends(text: str) -> bool:
    """Whether an answer of phase 1 is already the decision, as a session has it."""
    return says_nothing(text) and not parse_tool_calls(text)


def _second(row: Row, opening: Conversation, text: str) -> Conversation:
    """The conversation at the beginning of phase 2."""
    said = reply_turn(text, ())
    if not said.text and not said.calls:
        said = Turn("assistant", NO_CALL)
    told = tuple(outcome.told for outcome in carry_out(said.calls, MemoryBank()))
    asked = [m["content"] for m in row["messages"][2:] if m["role"] == "user"]
    question = asked[-1] if asked else load_prompts()["decide"]
    return messages_of([said, Turn("user", question, (), told)], opening)


def _share(a: int, b: int) -> float | None:
    return round(a / b, 3) if b else None
