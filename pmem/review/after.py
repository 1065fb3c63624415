"""After: what the agent did next, and whether the reminder seems to have helped.

A heuristic over the next few steps. It cannot know what the agent would have done without the
reminder, and says so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmem.core.failure import is_refused
from pmem.core.signature import located
from pmem.core.step import ACTING_KINDS, Step

#: Steps of the agent that are looked at after a reminder.
LOOKED_AT = 5

HELPED, REPEATED, UNCLEAR = "seems to have helped", "was not followed", "cannot be told"


@dataclass(frozen=True, slots=True)
class After:
    """`verdict` is one of three; `words` say what was seen; `steps` are the numbers of the steps
    looked at."""

    verdict: str
    words: str
    steps: tuple[int, ...] = ()


def after(decision: Mapping[str, Any], following: Sequence[Mapping[str, Any]]) -> After:
    """What came after a reminder, from the steps that follow it."""
    acts = [s for s in following if s.get("kind") in ACTING_KINDS][:LOOKED_AT]
    numbers = tuple(int(s["step"]) for s in acts)
    if not acts:
        return After(UNCLEAR, "nothing was done after it")
    warned = _warned(decision)
    if not warned:
        return After(UNCLEAR, f"next: {shown(acts[0])}", numbers)
    held = bool(decision.get("hold"))
    if _form(acts[0]) in warned and is_refused(Step.from_json(acts[0])):
        return After(UNCLEAR, "the user turned the call down", numbers)
    again = [s for s in acts if s.get("kind") == "command" and _form(s) in warned]
    # What was not put back ran all the same: its own step is no answer to the reminder.
    if decision.get("trigger") == "proposed" and not held and again and again[0] is acts[0]:
        again = again[1:]
        acts = acts[1:]
        if not acts:
            return After(UNCLEAR, "it came with the result, and nothing was done after it", numbers)
    if not again:
        return After(HELPED, f"it did something else: {shown(acts[0])}", numbers)
    first = again[0]
    if failed(first):
        return After(REPEATED, f"step {first['step']} ran it again, and it failed", numbers)
    if first is acts[0]:
        return After(UNCLEAR, f"step {first['step']} ran it all the same, and it passed", numbers)
    words = f"first {shown(acts[0])}; then step {first['step']} ran it, and it passed"
    return After(HELPED, words, numbers)


def failed(step: Mapping[str, Any]) -> bool:
    """Whether a recorded step failed."""
    return bool(step.get("exit_code")) or step.get("is_error") is True


def shown(step: Mapping[str, Any]) -> str:
    """A step in a few words."""
    text = " ".join(str(step.get("action") or "").split())
    text = text if len(text) <= 60 else text[:59] + "…"
    kind = "" if step.get("kind") == "command" else f"{step.get('kind')} "
    return f"step {step['step']}, {kind}`{text}`"


def _warned(decision: Mapping[str, Any]) -> set[str]:
    """The commands a reminder was about, in their normal forms."""
    found = [str(decision["proposed"])] if decision.get("proposed") else []
    found += [str(e["command"]) for e in decision.get("cited") or () if e.get("command")]
    return {located(text, "")[0] for text in found}


def _form(step: Mapping[str, Any]) -> str:
    return located(str(step.get("action") or ""), "")[0]
