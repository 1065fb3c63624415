"""After: what the agent did next, and whether the reminder seems to have helped.

A heuristic over the next few steps. It cannot know what the agent would have done without the
reminder, and says so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmem.core.failure import is_refused
from pmem.core.sight import edited_paths
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
    warned, named = _forms(decision)
    if not warned and not _form(acts[0]) & named:
        return After(UNCLEAR, f"next: {shown(acts[0])}", numbers)
    if _form(acts[0]) & warned and is_refused(Step.from_json(acts[0])):
        return After(UNCLEAR, "the user turned the call down", numbers)
    # What was not put back ran all the same: its own step is no answer to the reminder.
    ran = decision.get("trigger") == "proposed" and not decision.get("hold")
    if ran and _form(acts[0]) & warned:
        acts = acts[1:]
        if not acts:
            return After(UNCLEAR, "it came with the result, and nothing was done after it", numbers)
    first = acts[0]
    if _form(first) & named:
        return After(HELPED, f"it did what was named: {shown(first)}", numbers)
    again = next((s for s in acts if _form(s) & warned), None)
    if again is None:
        return After(HELPED, f"it did something else: {shown(first)}", numbers)
    if failed(again):
        return After(REPEATED, f"step {again['step']} did it again, and it failed", numbers)
    if again is first:
        return After(UNCLEAR, f"step {again['step']} did it all the same, and it passed", numbers)
    words = f"first {shown(first)}; then step {again['step']} did it, and it passed"
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


def _forms(decision: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """What a reminder warned of, and what it named as the way that worked, in comparable forms."""
    proposed = str(decision.get("proposed") or "")
    cited = [e for e in decision.get("cited") or () if e.get("command")]
    worked = {located(str(e["command"]), "")[0] for e in cited if e.get("outcome") == "succeeded"}
    if proposed:
        warned = {located(proposed, "")[0], *edited_paths(proposed)}
    else:
        bad = (e for e in cited if e.get("outcome") != "succeeded")
        warned = {located(str(e["command"]), "")[0] for e in bad}
    return warned, worked - warned


def _form(step: Mapping[str, Any]) -> set[str]:
    """An action as it is compared: a command by its normal form, an edit by its file."""
    text = str(step.get("action") or "")
    if step.get("kind") == "edit":
        return set(edited_paths(text))
    return {located(text, "")[0]} if step.get("kind") == "command" else set()
