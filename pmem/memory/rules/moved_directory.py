"""A search found nothing, and looked only where an earlier `cd` had led."""

from __future__ import annotations

import re

from pmem.core.decision import Reminder
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.place import place
from pmem.core.step import Step
from pmem.memory.rules.phrases import phrase, quoted, steps, task_language
from pmem.memory.rules.places import attempts_entry
from pmem.memory.rules.recent import back
from pmem.memory.rules.rule import Rule

REACH = 60
_SEARCH = re.compile(r"^(?:grep|glob|search|find|ls)\b", re.I)
_ELSEWHERE = re.compile(r"\bpath\s*[=:]|\s/[\w.]")
_NOTHING = re.compile(
    r"^\W*(?:no (?:matches|files|results|matching files)(?: found)?|found 0 )", re.I
)


def look(moment: Moment) -> Reminder | None:
    """Told before the next action, as the reason why the search may have found nothing."""
    step = moment.last_step
    if moment.proposed is None or step is None or not _in_vain(step):
        return None
    moved = _moved(step, moment)
    entry = attempts_entry(moved, moment) if moved is not None else None
    if moved is None or entry is None:
        return None
    lang = task_language(moment)
    text = phrase(
        "moved_directory",
        lang,
        moved=steps([moved.number], lang),
        directory=quoted(place(moved.cwd, moment.project) or moved.cwd),
        search=steps([step.number], lang),
    )
    return Reminder(text, (entry.id,), reason=RULE.name, cause=f"moved:{moved.cwd}")


def _in_vain(step: Step) -> bool:
    return (
        step.kind == "read"
        and _SEARCH.match(step.action) is not None
        and _ELSEWHERE.search(step.action) is None
        and _NOTHING.match(step.observation) is not None
    )


def _moved(step: Step, moment: Moment) -> Facts | None:
    """The command that led into the directory the search ran in, None for the project's root."""
    if step.cwd is not None and not place(step.cwd, moment.project):
        return None
    for facts in back(moment, REACH):
        if facts.kind != "command" or (facts.failed and facts.exit_code != 0):
            continue  # what came after the `cd` may have failed
        if step.cwd is not None:
            if facts.cwd == step.cwd:
                return facts
        elif facts.cwd:
            return None if facts.cwd.startswith("/") else facts
    return None


RULE = Rule("moved_directory", look)
