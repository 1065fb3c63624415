"""At the finish: an address or a path that the task names, and that no step has used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from pmem.core.bank import BankOp, Delete, SaveKnowledge
from pmem.core.decision import Reminder, Trigger
from pmem.core.moment import Moment
from pmem.core.signature import parse
from pmem.core.step import Step
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import phrase, task_language
from pmem.memory.rules.rule import Rule

#: Names taken from one task at most; a task that names more is a report, no order.
MAX_NAMES = 8
#: Characters of a task that are looked at.
MAX_TASK = 8000
_TAG = "named-in-task"
_ADDRESS = re.compile(
    r"\b[\w.-]+@[\w.-]+:[\w./~-]+"
    r"|\bhttps?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::\d+)?[\w./?=&%-]*"
    r"|(?<![\w./:@~-])/(?:app|opt|srv|etc|usr|var|data|git|root|workspace)/[\w./-]*\w"
)
_SAYS = frozenset({"echo", "printf"})


def keep(moment: Moment) -> Sequence[BankOp]:
    """Each name as an entry, until a step uses it."""
    ops: list[BankOp] = []
    if moment.trigger is Trigger.FIRST_STEP:
        for name in names(moment.task[:MAX_TASK]):
            content = f"The task names {name}; no step has used it yet."
            ops.append(SaveKnowledge(_id(name), content, (_TAG,), "task"))
        return ops
    for name in names(moment.task[:MAX_TASK]):
        entry = moment.bank.get(_id(name))
        if entry is not None and any(_uses(step, name) for step in moment.window):
            ops.append(Delete(entry.id))
    return ops


def look(moment: Moment) -> Reminder | None:
    """The names that are left, at the finish."""
    if moment.trigger is not Trigger.FINISH or moment.last_step is None:
        return None
    left = [n for n in names(moment.task[:MAX_TASK]) if moment.bank.get(_id(n)) is not None]
    if not left:
        return None
    lang = task_language(moment)
    text = phrase(
        "named_in_task", lang, names=", ".join(left[:3]), step=str(moment.last_step.number)
    )
    return Reminder(
        text,
        tuple(_id(n) for n in left[:3]),
        reason=RULE.name,
        cause=f"named:{'|'.join(left[:3])}",
        relapse=True,
    )


@lru_cache(maxsize=32)
def names(task: str) -> tuple[str, ...]:
    """The addresses and paths of a task; none if it names many."""
    found = dict.fromkeys(m[0].rstrip(".") for m in _ADDRESS.finditer(task))
    return tuple(found) if len(found) <= MAX_NAMES else ()


def _uses(step: Step, name: str) -> bool:
    """Whether a step acts on a name or shows it; saying it (`echo`) is no use."""
    short = name.rstrip("/").rsplit("/", 1)[-1] if name.startswith("/") else name
    if step.kind in ("user", "message", "compaction"):
        return False
    if step.kind == "command":
        told = [c.text for c in parse(step.action) if c.words and c.words[0] not in _SAYS]
        if any(short in text for text in told):
            return True
    elif short in step.action:
        return True
    return name in step.observation and name not in step.action


def _id(name: str) -> str:
    return entry_id("task names", name)


RULE = Rule("named_in_task", look, keep)
