"""A failure is back although something was changed in between, or by way of another command."""

from __future__ import annotations

import re

from pmem.core.decision import Reminder, Trigger
from pmem.core.effect import Effect
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.text import quotation
from pmem.memory.rules.causes import kind, waits
from pmem.memory.rules.phrases import phrase, steps, task_language
from pmem.memory.rules.places import attempts_entry
from pmem.memory.rules.recent import back, cause, failed_items, newest
from pmem.memory.rules.rule import Rule

#: How many steps back a failure is recognised.
REACH = 30
#: A compiler's message with line and column: there, edit and compile is the way to work.
_COMPILER = re.compile(r"^\S+?[:(]\d+[:,]\d+\)?:")
#: A run on work that was put aside is a comparison.
_COMPARES = re.compile(r"\bgit (?:stash|checkout|switch|worktree|bisect)\b")

#: Edits made in the shell. An output kept in a file is none.
_WRITES = re.compile(
    r"(?:^|[\s;&|])(?:(?:sed -i|perl -\w*i|patch|tee|git (?:apply|revert|restore|checkout))\b"
    r"|(?:cat|echo|printf)\b[^;|]*(?<![0-9&])>{1,2} *(?!/dev/null|&))"
)


def look(moment: Moment) -> Reminder | None:
    """Not for a plain repetition: that is told when the command is about to run a third time."""
    facts = newest(moment)
    if moment.trigger is not Trigger.FAILURE or facts is None:
        return None
    same, why = _before(facts, moment)
    if not same:
        return None
    before = same[-1]
    entries = [e for f in (facts, before) if (e := attempts_entry(f, moment)) is not None]
    if not entries:
        return None
    lang = task_language(moment)
    between = [
        f.number
        for f in back(moment, REACH)
        if before.number < f.number < facts.number and not f.failed and _edits(f)
    ]
    name = "same_failure_edited" if between else "same_failure"
    if len(same) > 1:
        rerun = not between and all(_plain(f, facts) for f in same)
        name = "again_same_failure_rerun" if rerun else f"again_{name}"
    text = phrase(
        name,
        lang,
        now=steps([facts.number], lang),
        before=steps([f.number for f in same[::-1][-5:]], lang),
        why=quotation(why[:140].rstrip(". ")),
        edits=steps(between[::-1][-4:], lang) if between else "",
    )
    return Reminder(
        text,
        tuple(dict.fromkeys(e.id for e in entries)),
        reason=RULE.name,
        cause=f"cause:{cause(why)}",
        # A third time, and not at once: whoever was told a step ago has hardly tried.
        relapse=len(same) > 1 and facts.number > same[0].number + 1,
    )


def _before(facts: Facts, moment: Moment) -> tuple[list[Facts], str]:
    """The steps within reach that failed for the same cause, newest first, and that cause."""
    if facts.kind not in ("command", "tool") or kind(facts.failure) == "missing_tool":
        return [], ""
    if waits(facts.normal) or _COMPARES.search(facts.normal):
        return [], ""
    why = facts.failure
    same = _same_line(facts, moment)
    if not same:
        same, why = _same_tests(facts, moment)
    if not same:
        return [], ""
    if _plain(facts, same[0]) and (
        not _changed(facts, same[0]) or _other_tests(facts, same[0], moment)
    ):
        return [], ""
    return same, why


def _same_line(facts: Facts, moment: Moment) -> list[Facts]:
    key = cause(facts.failure)
    if not key or _COMPILER.match(facts.failure):
        return []
    return [f for f in _failed_before(facts, moment) if cause(f.failure) == key]


def _same_tests(facts: Facts, moment: Moment) -> tuple[list[Facts], str]:
    """The previous run of the same command, if the very same tests failed in it."""
    runs = {s.number: s for s in moment.window}
    last = next((f for f in _failed_before(facts, moment) if _plain(f, facts)), None)
    if last is None or last.number not in runs or facts.number not in runs:
        return [], ""
    failed = failed_items(runs[facts.number].observation)
    if not failed or failed != failed_items(runs[last.number].observation):
        return [], ""
    return [last], ", ".join(sorted(failed)[:3])


def _other_tests(facts: Facts, before: Facts, moment: Moment) -> bool:
    """Whether other tests failed than in the run before: then something did change."""
    runs = {s.number: failed_items(s.observation) for s in moment.window}
    return runs.get(facts.number) != runs.get(before.number, runs.get(facts.number))


def _failed_before(facts: Facts, moment: Moment) -> list[Facts]:
    return [
        f
        for f in back(moment, REACH + 1)
        if f.failed
        and f.number != facts.number
        and f.kind in ("command", "tool")
        and (f.turn is None or f.turn != facts.turn)
    ]


def _plain(facts: Facts, other: Facts) -> bool:
    return (facts.normal, facts.cwd) == (other.normal, other.cwd)


def _edits(facts: Facts) -> bool:
    """Whether a step edited a file, by a tool of the agent or in the shell."""
    if facts.kind == "edit":
        return True
    return facts.kind == "command" and not facts.refused and bool(_WRITES.search(facts.normal))


def _changed(facts: Facts, before: Facts) -> bool:
    own = 1 if facts.effect is Effect.CHANGES and facts.change > before.change else 0
    return facts.change - own > before.change


RULE = Rule("recurring_cause", look, agents_only=True)
