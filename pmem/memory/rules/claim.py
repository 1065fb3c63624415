"""At the finish: the closing words say that tests pass, and the record says otherwise."""

from __future__ import annotations

import re
from functools import cache

from pmem.core.decision import Reminder, Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.text import quotation
from pmem.memory.rules.phrases import data, phrase, quoted, steps, task_language
from pmem.memory.rules.places import attempts_entry
from pmem.memory.rules.rule import Rule
from pmem.memory.rules.work import last_edit, work_of


def look(moment: Moment) -> Reminder | None:
    """The last test run failed, or ran before the last edit of code."""
    if moment.trigger is not Trigger.FINISH or not _says_so().search(moment.message):
        return None
    run = _last_test(moment)
    edit = last_edit(moment.history, code=True)
    if run is None or not (run.failed or (edit is not None and edit.number > run.number)):
        return None
    entry = attempts_entry(run, moment)
    if entry is None:
        return None
    lang = task_language(moment)
    command, at = quoted(run.normal), steps([run.number], lang)
    if run.failed:
        why = quotation(run.failure[:120]) if run.failure else str(run.exit_code)
        text = phrase("claim_failed", lang, command=command, at=at, why=why)
    else:
        assert edit is not None
        text = phrase("claim_edited", lang, command=command, at=at, edit=steps([edit.number], lang))
    return Reminder(text, (entry.id,), reason=RULE.name, cause=f"claim:{run.number}")


def _last_test(moment: Moment) -> Facts | None:
    for facts in reversed(moment.history.facts):
        if facts.kind == "command" and "test" in work_of(facts.normal):
            return facts
    return None


@cache
def _says_so() -> re.Pattern[str]:
    return re.compile("|".join(data("claims")["tests_pass"]), re.I)


RULE = Rule("claim", look)
