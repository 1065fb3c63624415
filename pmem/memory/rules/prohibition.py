"""The proposed action is one that the user, the task or a rule file forbids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from pmem.core.bank import BankOp, Delete, SaveKnowledge, normal_id
from pmem.core.decision import Reminder, Trigger
from pmem.core.moment import Moment
from pmem.core.sight import sight
from pmem.memory.rules.constraints import Constraint, constraints
from pmem.memory.rules.mention import Pattern, run_by
from pmem.memory.rules.phrases import phrase, quoted, steps
from pmem.memory.rules.rule import Rule
from pmem.memory.rules.wishes import mentions
from pmem.memory.rules.work import last_edit, ran_since

_TAG = "constraint"
#: In a rule file it forbids; in a message it mostly tells how a check ended.
_RESULT = "❌"


def keep(moment: Moment) -> Sequence[BankOp]:
    """The prohibitions as entries, when the rules are read; those a file no longer has go."""
    if moment.trigger not in (Trigger.FIRST_STEP, Trigger.USER_MESSAGE, Trigger.COMPACTION):
        return ()
    ops: list[BankOp] = []
    current = {id: (source, c) for source, id, c in in_force(moment)}
    for id, (source, constraint) in current.items():
        content = _said(source, constraint, "en")
        old = moment.bank.get(id)
        if old is None or (old.source == source and old.content != content):
            ops.append(SaveKnowledge(id, content, (_TAG,), source))
    files = {path for path, _ in moment.rules_files}
    for entry in moment.bank.knowledge:
        of_file = entry.source.rpartition(":")[0] in files
        if of_file and _TAG in entry.tags and entry.id not in current:
            ops.append(Delete(entry.id))
    return ops


def look(moment: Moment) -> Reminder | None:
    """The first prohibition the proposed action breaks. It is sure unless something can lift it."""
    if moment.proposed is None:
        return None
    runs = moment.proposed.kind == "command"
    words = run_by(moment.proposed.text) if runs else []
    paths = sight(moment.proposed, moment.project).written
    for source, id, constraint in in_force(moment):
        broken = [p for p in constraint.commands if any(p.matches(w) for w in words)]
        touched = any(_covers(glob, path) for glob in constraint.paths for path in paths)
        if not (broken or touched) or moment.bank.get(id) is None:
            continue
        if _lifted(constraint, broken, moment):
            continue
        said = _said(source, constraint, constraint.lang)
        if constraint.needs in ("", "permission"):
            text = phrase(
                "about_to", constraint.lang, said=said, command=quoted(moment.proposed.text)
            )
        else:
            edit = last_edit(moment.history)
            number = f" ({steps([edit.number], constraint.lang)})" if edit else ""
            text = phrase("not_run_since", constraint.lang, said=said, edit=number)
        return Reminder(
            text, (id,), reason=RULE.name, cause=f"rule:{id}", sure=constraint.needs == ""
        )
    return None


def in_force(moment: Moment) -> Iterator[tuple[str, str, Constraint]]:
    """Every prohibition with its source and the id of its entry; the user's words come first."""
    texts = [("user", text) for _, text in moment.user_messages if text != moment.task]
    texts.append(("task", moment.task))
    texts += moment.rules_files
    seen: set[str] = set()
    for origin, text in texts:
        for constraint in constraints(text):
            named = origin in ("user", "task")
            if named and constraint.quote.startswith(_RESULT):
                continue
            source = origin if named else f"{origin}:{constraint.line}"
            id = normal_id(f"{origin} {constraint.quote}" if named else source)
            if id in seen:
                id = normal_id(f"{id[:40]} {len(seen)}")
            seen.add(id)
            yield source, id, constraint


def _lifted(constraint: Constraint, broken: Sequence[Pattern], moment: Moment) -> bool:
    """Whether the user has asked for this very thing, or what it waits for has been done."""
    if constraint.needs not in ("", "permission"):
        return ran_since(constraint.needs, moment.history)
    wanted = [
        wish
        for text in (moment.task, *(text for _, text in moment.user_messages))
        for wish in mentions(text)
    ]
    return any(wish.covers(p) for wish in wanted for p in broken)


def _said(source: str, constraint: Constraint, lang: str) -> str:
    name = {"user": "user_said", "task": "task_says"}.get(source, "says")
    return phrase(name, lang, source=source, quote=constraint.quote)


def _covers(glob: str, path: str) -> bool:
    """Whether a path of a rule (`vendor/`, `*.lock`, `src/gen/**`) means a file."""
    glob = re.sub(r"/\*{0,2}$", "", glob)
    if "/" not in glob:
        return any(fnmatchcase(part, glob) for part in path.split("/"))
    return any(fnmatchcase(path, form) for form in (glob, f"{glob}/*", f"*/{glob}", f"*/{glob}/*"))


RULE = Rule("prohibition", look, keep)
