"""A file whose edits failed twice in a row is about to be edited again, without having changed."""

from __future__ import annotations

from collections.abc import Sequence

from pmem.core.bank import BankOp, SaveProcedural
from pmem.core.decision import Reminder, Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.text import quotation
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import file_name, phrase, steps, task_language
from pmem.memory.rules.recent import back, newest, one_by_one, target, was_tried
from pmem.memory.rules.rule import Rule

#: How many steps back an edit still counts.
REACH = 40


def keep(moment: Moment) -> Sequence[BankOp]:
    """The failed edits of a file as one entry, from the second on."""
    facts = newest(moment)
    if moment.trigger is not Trigger.FAILURE or facts is None or facts.kind != "edit":
        return ()
    path = target(facts.normal)
    failed = _failed(path, moment)
    if not _enough(failed):
        return ()
    numbers = steps([f.number for f in failed[-6:]], "en")
    content = f"Edits of {file_name(path)} failed at {numbers}: {quotation(failed[-1].failure)}"
    return [
        SaveProcedural(_id(path), content, "failed", f"step {facts.number} of {moment.session}")
    ]


def look(moment: Moment) -> Reminder | None:
    """Neither a read nor another file's edit in between counts as a change."""
    action = moment.proposed
    if action is None or action.kind != "edit":
        return None
    path = target(action.text)
    failed = _failed(path, moment)
    if not _enough(failed) or moment.bank.get(_id(path)) is None:
        return None
    lang = task_language(moment)
    text = phrase(
        "failing_edit",
        lang,
        file=file_name(path),
        steps=steps([f.number for f in failed[-6:]], lang),
        why=quotation(failed[-1].failure[:120].rstrip(". ")),
    )
    seen = next(
        (f for f in back(moment, REACH) if f.kind == "read" and target(f.normal) == path), None
    )
    if seen is not None:
        text += " " + phrase("last_read", lang, steps=steps([seen.number], lang))
    return Reminder(
        text,
        (_id(path),),
        reason=RULE.name,
        cause=f"edit:{path}:{failed[0].number}",
        relapse=len(one_by_one(failed)) > 1 and len(failed) > 2,
    )


def _failed(path: str, moment: Moment) -> list[Facts]:
    found = []
    for facts in back(moment, REACH):
        if facts.kind == "edit" and target(facts.normal) == path:
            if not facts.failed:
                break
            if was_tried(facts):
                found.append(facts)
    return found[::-1] if path else []


def _enough(failed: list[Facts]) -> bool:
    """Two attempts, or three edits in one: calls that were sent together are one attempt."""
    return len(failed) >= 3 or len(one_by_one(failed)) >= 2


def _id(path: str) -> str:
    return entry_id("edits", file_name(path))


RULE = Rule("failing_edit", look, keep)
