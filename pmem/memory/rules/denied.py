"""The system refused a command on this very object before, and nothing was done about it since."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from pmem.core.bank import BankOp, SaveKnowledge
from pmem.core.decision import Reminder, Trigger
from pmem.core.moment import Moment
from pmem.core.signature import parse
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import data, phrase, steps, task_language
from pmem.memory.rules.recent import back
from pmem.memory.rules.rule import Rule

#: Characters of an output that are looked at, from its end.
MAX_OUTPUT = 8000
_SOURCE = re.compile(r"step (\d+) of (.*)")


def keep(moment: Moment) -> Sequence[BankOp]:
    """What was not permitted, as a fact."""
    step = moment.last_step
    if (
        moment.trigger is not Trigger.FAILURE
        or step is None
        or step.kind not in ("command", "edit")
    ):
        return ()
    ops: list[BankOp] = []
    for line in step.observation[-MAX_OUTPUT:].splitlines():
        for pattern in _patterns():
            found = pattern.match(line.strip())
            if found is not None:
                content = (
                    f"`{found['program']}` on {found['what']} is not permitted"
                    f" (step {step.number}: {line.strip()[:120]})."
                )
                source = f"step {step.number} of {moment.session}"
                id = _id(found["program"], found["what"])
                ops.append(SaveKnowledge(id, content, ("denied",), source))
    return ops[:4]


def look(moment: Moment) -> Reminder | None:
    """The same program on the same object, whatever its options."""
    action = moment.proposed
    if action is None or action.kind != "command" or _lets().search(action.text):
        return None
    for part in parse(action.text):
        program = part.words[0].rpartition("/")[2] if part.words else ""
        for what in part.words[1:]:
            entry = moment.bank.get(_id(program, what)) if what.strip("-") else None
            at = _SOURCE.fullmatch(entry.source) if entry is not None else None
            if entry is None or at is None or at[2] != moment.session:
                continue
            since = int(at[1])
            if any(f.number > since and _lets().search(f.normal) for f in back(moment, 200)):
                continue
            lang = task_language(moment)
            text = phrase("denied", lang, program=program, what=what, at=steps([since], lang))
            return Reminder(text, (entry.id,), reason=RULE.name, cause=f"denied:{program}:{what}")
    return None


def _id(program: str, what: str) -> str:
    return entry_id("denied", f"{program} {what}")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p) for p in data("causes")["denied"])


@cache
def _lets() -> re.Pattern[str]:
    return re.compile("|".join(data("causes")["lets"]))


RULE = Rule("denied", look, keep, agents_only=True)
