"""The same steps over and over, with the same results: one command, or two to four in turn."""

from __future__ import annotations

import re
from functools import cache

from pmem.core.bank import Entry
from pmem.core.decision import Reminder
from pmem.core.effect import Effect
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.memory.rules.causes import waits
from pmem.memory.rules.phrases import data, phrase, quoted, steps, task_language
from pmem.memory.rules.places import attempts_entry
from pmem.memory.rules.recent import back
from pmem.memory.rules.rule import Rule

#: The longest cycle looked for, in steps.
MAX_CYCLE = 4
_ACTS = ("command", "edit", "read", "tool")


def look(moment: Moment) -> Reminder | None:
    """A cycle has gone round twice and is about to begin anew; polling is none."""
    action = moment.proposed
    if action is None or action.kind not in _ACTS or waits(action.text):
        return None
    facts = [f for f in back(moment, 2 * MAX_CYCLE) if f.kind in _ACTS][::-1]
    for length in range(1, MAX_CYCLE + 1):
        first, second = facts[-2 * length : -length], facts[-length:]
        if len(first) < length or not _same(first, second):
            continue
        if not _is(action.text, action.kind, second[0], moment):
            continue
        if length == 1 and not _in_vain(second[0], moment):
            continue
        return _tell([*first, *second], length, moment)
    return None


def _same(first: list[Facts], second: list[Facts]) -> bool:
    if any(f.number - e.number > 4 * MAX_CYCLE for e, f in zip(first, second, strict=True)):
        return False
    pairs = zip(first, second, strict=True)
    return all(
        (e.normal, e.cwd, e.fingerprint) == (f.normal, f.cwd, f.fingerprint) for e, f in pairs
    )


def _is(text: str, kind: str, facts: Facts, moment: Moment) -> bool:
    if kind != facts.kind:
        return False
    if kind != "command":
        return text.startswith(facts.normal)
    assert moment.proposed is not None
    runs = moment.history.attempts(moment.proposed)
    return bool(runs) and runs[-1].number == facts.number


def _in_vain(facts: Facts, moment: Moment) -> bool:
    """Of one command run twice alike: it acts, and its answer reads as a no."""
    step = moment.last_step
    if facts.effect is Effect.READS or facts.failed or step is None or step.number != facts.number:
        return False
    return bool(_negative().search(step.observation[-2000:]))


def _tell(facts: list[Facts], length: int, moment: Moment) -> Reminder | None:
    entries = [e for f in facts if (e := attempts_entry(f, moment)) is not None]
    if not entries or all(f.effect is Effect.READS for f in facts):
        return None
    lang = task_language(moment)
    numbers = [f.number for f in facts]
    if length == 1:
        text = phrase(
            "same_answer", lang, command=quoted(facts[0].normal), steps=steps(numbers, lang)
        )
    else:
        text = phrase(
            "cycle",
            lang,
            second=steps(numbers[length:], lang),
            first=steps(numbers[:length], lang),
            command=quoted(facts[0].normal.partition("\n")[0]),
        )
    return Reminder(
        text,
        _ids(entries),
        reason=RULE.name,
        cause=f"loop:{'|'.join(sorted(f.normal for f in facts))[:200]}",
    )


def _ids(entries: list[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(e.id for e in entries))


@cache
def _negative() -> re.Pattern[str]:
    return re.compile("|".join(data("causes")["negative"]), re.I)


RULE = Rule("loop", look, agents_only=True)
