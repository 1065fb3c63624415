"""A failure is back although something was changed in between, or by way of another command."""

from __future__ import annotations

import re

from pmem.core.decision import Reminder, Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.memory.rules.causes import kind, waits
from pmem.memory.rules.phrases import phrase, steps, task_language
from pmem.memory.rules.places import attempts_entry
from pmem.memory.rules.recent import back, cause, newest
from pmem.memory.rules.rule import Rule

#: How many steps back a failure is recognised.
REACH = 30
#: A compiler's message with line and column: there, edit and compile is the way to work.
_COMPILER = re.compile(r"^\S+?[:(]\d+[:,]\d+\)?:")
#: A run on work that was put aside is a comparison.
_COMPARES = re.compile(r"\bgit (?:stash|checkout|switch|worktree|bisect)\b")


def look(moment: Moment) -> Reminder | None:
    """Not for a plain repetition: that is told when the command is about to run a third time."""
    facts = newest(moment)
    if moment.trigger is not Trigger.FAILURE or facts is None:
        return None
    before = _before(facts, moment)
    if before is None:
        return None
    entries = [e for f in (facts, before) if (e := attempts_entry(f, moment)) is not None]
    if not entries:
        return None
    lang = task_language(moment)
    between = [
        f.number
        for f in back(moment, REACH)
        if before.number < f.number < facts.number and f.kind == "edit" and not f.failed
    ]
    text = phrase(
        "same_failure_edited" if between else "same_failure",
        lang,
        now=steps([facts.number], lang),
        before=steps([before.number], lang),
        why=facts.failure[:140].rstrip(". "),
        edits=steps(between[::-1][-4:], lang) if between else "",
    )
    return Reminder(
        text,
        tuple(dict.fromkeys(e.id for e in entries)),
        reason=RULE.name,
        cause=f"cause:{cause(facts.failure)}",
    )


def _before(facts: Facts, moment: Moment) -> Facts | None:
    """The first step within reach that failed for the same cause, and what came since."""
    key = cause(facts.failure)
    if not key or facts.kind not in ("command", "tool"):
        return None
    if _COMPILER.match(facts.failure) or kind(facts.failure) == "missing_tool":
        return None
    if waits(facts.normal) or _COMPARES.search(facts.normal):
        return None
    same = [
        f
        for f in back(moment, REACH + 1)
        if f.failed
        and f.number != facts.number
        and f.kind in ("command", "tool")
        and (f.turn is None or f.turn != facts.turn)
        and cause(f.failure) == key
    ]
    if not same:
        return None
    last = same[0]
    plain = last.normal == facts.normal and last.cwd == facts.cwd
    own = 1 if facts.change > last.change and facts.effect == "changes" else 0
    if plain and facts.change - own <= last.change:
        return None
    return same[-1]


RULE = Rule("recurring_cause", look)
