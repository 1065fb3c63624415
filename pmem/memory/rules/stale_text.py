"""A command rewrote files since a file was read, and an exact edit failed for that before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from posixpath import splitext

from pmem.core.bank import BankOp, SaveKnowledge
from pmem.core.decision import Reminder, Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import data, file_name, phrase, quoted, steps, task_language
from pmem.memory.rules.recent import back, newest, target
from pmem.memory.rules.rule import Rule

REACH = 80
_TAG = "rewrites"


def keep(moment: Moment) -> Sequence[BankOp]:
    """An exact edit failed, and a command had said that it rewrote files since the last look."""
    facts = newest(moment)
    if moment.trigger is not Trigger.FAILURE or facts is None or facts.kind != "edit":
        return ()
    if not _no_such_text().search(facts.failure):
        return ()
    path = target(facts.normal)
    seen = _last_look(path, facts.number, moment)
    if seen is None:
        return ()
    for step in reversed(moment.window[:-1]):
        if step.number <= seen.number:
            break
        if step.kind == "command" and _rewrote().search(step.observation):
            normal = next(f.normal for f in back(moment, REACH) if f.number == step.number)
            content = (
                f"`{normal.replace('`', chr(39))}` rewrites files: after it ran (step"
                f" {step.number}), the exact-text edit of {file_name(path)} at step"
                f" {facts.number} failed."
            )
            id = entry_id("rewrites", normal)
            if moment.bank.get(id) is None:
                source = f"step {facts.number} of {moment.session}"
                return [SaveKnowledge(id, content, (_TAG, splitext(path)[1] or "file"), source)]
    return ()


def look(moment: Moment) -> Reminder | None:
    """The same again: read, rewritten, and now an exact edit of a file of that kind."""
    action = moment.proposed
    if action is None or action.kind != "edit":
        return None
    path = target(action.text)
    seen = _last_look(path, 10**9, moment)
    if seen is None or action.text.lower().startswith("write"):
        return None
    for facts in back(moment, REACH):
        if facts.number <= seen.number:
            return None
        if facts.kind != "command":
            continue
        entry = moment.bank.get(entry_id("rewrites", facts.normal)) if facts.normal else None
        if entry is None or splitext(path)[1] not in entry.tags:
            continue
        if not entry.source.endswith(f" of {moment.session}"):
            continue
        lang = task_language(moment)
        failed = re.findall(r"at step (\d+) failed", entry.content)
        text = phrase(
            "stale_text",
            lang,
            command=quoted(facts.normal),
            ran=steps([facts.number], lang),
            file=file_name(path),
            seen=steps([seen.number], lang),
            failed=steps([int(n) for n in failed], lang),
        )
        return Reminder(text, (entry.id,), reason=RULE.name, cause=f"stale:{entry.id}")
    return None


def _last_look(path: str, before: int, moment: Moment) -> Facts | None:
    for facts in back(moment, REACH):
        looked = facts.kind in ("read", "edit") and not facts.failed and facts.number < before
        if looked and path and target(facts.normal) == path:
            return facts
    return None


@cache
def _no_such_text() -> re.Pattern[str]:
    return re.compile("|".join(data("causes")["no_such_text"]), re.I)


@cache
def _rewrote() -> re.Pattern[str]:
    return re.compile("|".join(data("causes")["rewrote"]), re.I)


RULE = Rule("stale_text", look, keep)
