"""What helped before: another form of the command, or a command that made it pass.

A remedy is kept as an entry a person can read and correct, and is recognised by its sentence:
"`npm test` failed (Cannot find module './db'), then passed after `npm run build` (steps 12, 14)."
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pmem.core.bank import BankOp, Entry, SaveProcedural
from pmem.core.decision import Reminder, Trigger
from pmem.core.effect import Effect
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.place import place
from pmem.core.signature import parse
from pmem.core.step import Action
from pmem.core.text import quotation
from pmem.memory.rules.causes import STOPPED, WRONG_CALL, kind
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import phrase, quoted, steps, task_language
from pmem.memory.rules.places import attempts_entry
from pmem.memory.rules.rule import Rule
from pmem.memory.rules.runs import moved_on, told, why

#: How many steps back a remedy is looked for.
REACH = 60
#: How many of the newest steps are looked at for a command that passes at last.
FRESH = 12

_SENTENCE = re.compile(
    r"`(?P<command>[^`]+)`(?: in (?P<cwd>\S+)/)? failed(?: \(“?(?P<failure>.*?)”?\))?,"
    r" then passed after `(?P<remedy>[^`]+)`"
)
#: Commands whose success changes nothing for another command.
_NO_REMEDY = re.compile(r"^(?:cd|echo|git (?:add|commit|push|status|log|diff|fetch|branch|tag))\b")
#: Commands that prepare something, recognised where their effect is not.
_PREPARES = re.compile(
    r"\b(?:build|make|gen(?:erate)?|codegen|migrate|install|setup|start|up|compile|init|sync|seed"
    r"|prepare|bootstrap|restart|restore|link|download|fetch|create|update)\b"
)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What an entry says: this failure of this command was followed by success after `remedy`."""

    command: str
    cwd: str
    failure: str
    remedy: str


# -- what is kept ------------------------------------------------------------------------------


def keep(moment: Moment) -> Sequence[BankOp]:
    """A remedy entry for each command that passes now and failed before, if one command did it."""
    ops: list[BankOp] = []
    for facts in islice(reversed(moment.history.facts), FRESH):
        if facts.kind != "command" or facts.failed:
            continue
        failed = _failed_before(facts, moment)
        remedy = _what_helped(failed, facts, moment) if failed is not None else None
        if failed is None or remedy is None:
            continue
        op = SaveProcedural(
            remedy_id(facts.normal),
            sentence(failed, remedy, facts, moment),
            "diagnosis",
            source=f"step {facts.number} of {moment.session}",
        )
        old = moment.bank.get(op.id)
        if old is None or old.source != op.source:
            ops.append(op)
    return ops


def remedy_id(command: str) -> str:
    """The id of the entry that tells what made a command pass."""
    return entry_id("remedy", command)


def sentence(failed: Facts, remedy: Facts, passed: Facts, moment: Moment) -> str:
    """What the entry says."""
    cwd = place(passed.cwd, moment.project)
    where = f" in {cwd}/" if cwd else ""
    why = f" ({quotation(failed.failure)})" if failed.failure else ""
    return (
        f"{_ticks(passed.normal)}{where} failed{why}, then passed after {_ticks(remedy.normal)}"
        f" (steps {failed.number}, {remedy.number}, {passed.number})."
    )


def read_remedy(entry: Entry) -> Remedy | None:
    """The remedy an entry tells, None if it is written in other words."""
    match = _SENTENCE.match(entry.content)
    if match is None:
        return None
    return Remedy(match["command"], match["cwd"] or "", match["failure"] or "", match["remedy"])


def _failed_before(passed: Facts, moment: Moment) -> Facts | None:
    runs = moment.history.attempts(Action("command", passed.normal, passed.cwd or None))
    before = [run for run in runs if run.number < passed.number]
    if not before or not before[-1].failed or before[-1].exit_code in STOPPED:
        return None
    return None if kind(before[-1].failure) == "transient" else before[-1]


def _what_helped(failed: Facts, passed: Facts, moment: Moment) -> Facts | None:
    between = list(_between(moment, failed.number, passed.number))
    if any(f.kind == "edit" and not f.failed for f in between):
        return None  # the edit may well have been it
    worked = {
        f.normal: f
        for f in between
        if f.kind == "command" and not f.failed and not _NO_REMEDY.match(f.normal)
    }
    changed = [f for f in worked.values() if f.effect is Effect.CHANGES]
    prepared = [
        f
        for f in worked.values()
        if f.effect is Effect.UNKNOWN and _PREPARES.search(f.normal) and f.normal != passed.normal
    ]
    found = changed or prepared
    return found[0] if len(found) == 1 else None


def _between(moment: Moment, first: int, last: int) -> Iterator[Facts]:
    for facts in islice(reversed(moment.history.facts), REACH):
        if facts.number <= first:
            return
        if facts.number < last:
            yield facts


# -- what is said ------------------------------------------------------------------------------


def look(moment: Moment) -> Reminder | None:
    """A command that failed is about to run again, or has just failed as it did before."""

    last = _failed_now(moment)
    if last is None or moved_on(moment, last):
        return None
    return _cured(moment, last) or _other_form(moment, last)


def variant(moment: Moment, failed: Facts) -> Facts | None:
    """Another form of a wrongly called command that passed after it, with nothing between."""
    if kind(failed.failure) not in WRONG_CALL:
        return None
    words = _arguments(failed.normal)
    for facts in _between(moment, failed.number, failed.number + 10**9):
        if facts.kind != "command" or facts.failed:
            continue
        own = 1 if facts.effect is Effect.CHANGES else 0
        if facts.change - own > failed.change:
            continue
        if (facts.normal, facts.cwd) == (failed.normal, failed.cwd):
            continue
        if facts.normal == failed.normal or _same_work(words, facts.normal):
            return facts
    return None


def _failed_now(moment: Moment) -> Facts | None:
    """The failed run at hand: the newest of the proposed command, or the step just made."""
    if moment.proposed is not None:
        if moment.proposed.kind != "command":
            return None
        runs = moment.history.attempts(moment.proposed)
        return runs[-1] if runs and runs[-1].failed else None
    if moment.trigger is not Trigger.FAILURE or not moment.history.facts:
        return None
    newest = moment.history.facts[-1]
    return newest if newest.kind == "command" and newest.failed else None


def _cured(moment: Moment, last: Facts) -> Reminder | None:
    entry = moment.bank.get(remedy_id(last.normal)) if last.normal else None
    remedy = read_remedy(entry) if entry is not None else None
    if entry is None or remedy is None:
        return None
    if (remedy.command, remedy.cwd) != (last.normal, place(last.cwd, moment.project)):
        return None
    if not remedy.failure or remedy.failure not in (last.failure, quotation(last.failure)[1:-1]):
        return None
    ran_since = any(
        f.normal == remedy.remedy and not f.failed
        for f in _between(moment, last.number, last.number + 10**9)
    )
    if ran_since:
        return None
    lang = task_language(moment)
    common = {
        "command": told(last, moment, lang),
        "why": why(last, lang),
        "remedy": quoted(remedy.remedy),
    }
    told_steps = re.search(r"\(steps (\d+), (\d+), (\d+)\)", entry.content)
    if entry.source.endswith(f" of {moment.session}") and told_steps is not None:
        failed, _, passed = (int(n) for n in told_steps.groups())
        if failed == last.number or passed > last.number:
            return None
        text = phrase(
            "cured",
            lang,
            failed=steps([failed], lang),
            passed=steps([passed], lang),
            again=steps([last.number], lang),
            **common,
        )
    else:
        text = phrase("cured_earlier", lang, when=_when(entry), **common)
    attempts = attempts_entry(last, moment)
    return Reminder(
        text,
        (entry.id, *((attempts.id,) if attempts is not None else ())),
        reason=RULE.name,
        cause=f"remedy:{entry.id}",
    )


def _other_form(moment: Moment, last: Facts) -> Reminder | None:
    if moment.proposed is None:
        return None
    better = variant(moment, last)
    entry = attempts_entry(last, moment)
    if better is None or entry is None:
        return None
    lang = task_language(moment)
    other = attempts_entry(better, moment)
    return Reminder(
        phrase(
            "failed_then_variant",
            lang,
            command=told(last, moment, lang),
            failed=steps([last.number], lang),
            why=why(last, lang),
            variant=told(better, moment, lang),
            steps=steps([better.number], lang),
        ),
        (entry.id, *((other.id,) if other is not None else ())),
        reason=RULE.name,
        cause=f"variant:{last.cwd}:{last.normal}",
    )


def _arguments(command: str) -> frozenset[str]:
    """The words that say what is worked on: all but the program and the options."""
    commands = parse(command)
    words = commands[0].words if commands else ()
    return frozenset(w for w in words[1:] if not w.startswith("-")) or frozenset(words[:1])


def _same_work(words: frozenset[str], other: str) -> bool:
    return any(words <= frozenset(c.words) for c in parse(other))


def _when(entry: Entry) -> str:
    date = re.search(r"of (\d{4})(\d\d)(\d\d)-", entry.source)
    return f" ({'-'.join(date.groups())})" if date else ""


def _ticks(command: str) -> str:
    return "`" + command.replace("`", "'") + "`"


RULE = Rule("known_remedy", look, keep)
