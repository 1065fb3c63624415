"""A command that failed at least twice alike, with nothing changed since, is about to run again."""

from __future__ import annotations

from pmem.core.decision import Reminder
from pmem.core.moment import Changed, Moment
from pmem.memory.rules import known_remedy
from pmem.memory.rules.causes import STOPPED, kind, waits
from pmem.memory.rules.phrases import phrase, steps, task_language
from pmem.memory.rules.places import attempts_entry
from pmem.memory.rules.rule import Rule
from pmem.memory.rules.runs import alike, moved_on, told, why


def look(moment: Moment) -> Reminder | None:
    """Two grades: `sure` if only looks and failures lie between and no file changed."""
    action = moment.proposed
    if action is None or action.kind != "command":
        return None
    failed = alike(moment.history.attempts(action))
    if len(failed) < 2:
        return None
    last = failed[-1]
    if last.exit_code in STOPPED or waits(last.normal) or moved_on(moment, last):
        return None
    entry = attempts_entry(last, moment)
    if entry is None:
        return None
    changed = moment.changed_since(last.ended) if last.ended is not None else Changed.UNKNOWN
    if changed is Changed.YES:
        return None
    lang = task_language(moment)
    text = phrase(
        "twice" if lang == "en" and len(failed) == 2 else "repeated_failure",
        lang,
        command=told(last, moment, lang),
        count=len(failed),
        steps=steps([f.number for f in failed], lang),
        why=why(last, lang),
    )
    better = known_remedy.variant(moment, last)
    cited = [entry.id]
    if better is not None:
        text += " " + phrase(
            "variant",
            lang,
            variant=told(better, moment, lang),
            steps=steps([better.number], lang),
        )
        other = attempts_entry(better, moment)
        cited += [other.id] if other is not None else []
    return Reminder(
        text,
        tuple(cited),
        reason=RULE.name,
        cause=f"repeat:{last.cwd}:{last.normal}",
        sure=(
            changed is Changed.NO
            and moment.history.unknown == last.unknown
            and kind(last.failure) != "transient"
        ),
    )


RULE = Rule("repeated_failure", look)
