"""The failed output named what to run; it was not run, and the command is about to run again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from pmem.core.bank import BankOp, SaveProcedural
from pmem.core.decision import Reminder, Trigger
from pmem.core.moment import Moment
from pmem.core.signature import normal_form
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import data, phrase, quoted, steps, task_language
from pmem.memory.rules.recent import back, newest
from pmem.memory.rules.rule import Rule
from pmem.memory.rules.runs import moved_on

_HINT = re.compile(r"its output says to run `([^`]+)`")


def keep(moment: Moment) -> Sequence[BankOp]:
    """What the output of a failed command says to run."""
    facts, step = newest(moment), moment.last_step
    if moment.trigger is not Trigger.FAILURE or facts is None or step is None:
        return ()
    if facts.kind != "command" or not facts.normal:
        return ()
    for pattern in _patterns():
        found = pattern.search(step.observation[-6000:])
        if found is None:
            continue
        hint = normal_form(found["run"].strip())
        if hint and hint != facts.normal and len(hint) <= 100 and not _aside().search(hint):
            content = (
                f"{quoted(facts.normal)} failed at step {facts.number}; its output says to run"
                f" `{hint}`."
            )
            source = f"step {facts.number} of {moment.session}"
            return [SaveProcedural(_id(facts.normal), content, "diagnosis", source)]
    return ()


def look(moment: Moment) -> Reminder | None:
    """Nothing was changed since, and the user has not spoken."""
    action = moment.proposed
    if action is None or action.kind != "command":
        return None
    runs = moment.history.attempts(action)
    last = runs[-1] if runs else None
    if last is None or not last.failed or moved_on(moment, last):
        return None
    entry = moment.bank.get(_id(last.normal))
    hint = _HINT.search(entry.content) if entry is not None else None
    if entry is None or hint is None or f"step {last.number} of {moment.session}" != entry.source:
        return None
    if any(f.number > last.number and f.normal == hint[1] for f in back(moment, 40)):
        return None
    lang = task_language(moment)
    text = phrase(
        "told_remedy",
        lang,
        command=quoted(last.normal),
        at=steps([last.number], lang),
        hint=quoted(hint[1]),
    )
    return Reminder(text, (entry.id,), reason=RULE.name, cause=f"hint:{entry.id}")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, re.I | re.M) for p in data("causes")["hints"])


@cache
def _aside() -> re.Pattern[str]:
    return re.compile("|".join(data("causes")["asides"]), re.I)


def _id(command: str) -> str:
    return entry_id("hint", command)


RULE = Rule("told_remedy", look, keep, agents_only=True)
