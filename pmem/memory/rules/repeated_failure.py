"""The command that failed at least twice alike, with nothing changed since, is about to run again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pmem.core.decision import Reminder
from pmem.core.history import Facts
from pmem.core.moment import Changed, Moment
from pmem.memory.rules import known_remedy
from pmem.memory.rules.causes import STOPPED, kind
from pmem.memory.rules.phrases import phrase, quoted, steps, task_language
from pmem.memory.rules.places import attempts_entry, place
from pmem.memory.rules.rule import Rule

#: A failure line is quoted up to this many characters.
MAX_WHY = 110
#: Commands that wait for something outside: run again for good reason, however often.
_WAITS = re.compile(
    r"(?:^|[\s;&|(])(?:sleep|watch|wait|until|while|kubectl (?:get|wait|rollout)|gh (?:run|pr checks)|tail -f"
    r"|ping|nc|docker (?:ps|inspect)|systemctl (?:status|is-active))(?:$|[\s;])"
)


def look(moment: Moment) -> Reminder | None:
    """Two grades: `sure` if only looks and failures lie between and no file changed."""
    action = moment.proposed
    if action is None or action.kind != "command":
        return None
    failed = alike(moment.history.attempts(action))
    if len(failed) < 2:
        return None
    last = failed[-1]
    if last.exit_code in STOPPED or _WAITS.search(last.normal) or moved_on(moment, last):
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


def alike(runs: Sequence[Facts]) -> list[Facts]:
    """The newest runs that failed one after the other in the same way, oldest first."""
    found: list[Facts] = []
    for run in reversed(runs):
        if not run.failed or (found and not _same_failure(run, found[-1])):
            break
        found.append(run)
    return found[::-1]


def _same_failure(a: Facts, b: Facts) -> bool:
    if a.exit_code != b.exit_code:
        return False
    return a.fingerprint == b.fingerprint or bool(a.failure and a.failure == b.failure)


def moved_on(moment: Moment, since: Facts) -> bool:
    """Whether something was changed since a step, or the user has spoken, as far as recorded."""
    return moment.history.changes > since.change or any(
        number > since.number for number, _ in moment.user_messages
    )


def told(facts: Facts, moment: Moment, lang: str) -> str:
    """A command as a reminder names it, with its directory where that is not the project's."""
    cwd = place(facts.cwd, moment.project)
    if not cwd:
        return quoted(facts.normal)
    return phrase("in_directory", lang, command=quoted(facts.normal), cwd=cwd)


def why(facts: Facts, lang: str) -> str:
    """Exit code and failure line in brackets, "" if neither is known."""
    parts = []
    if facts.exit_code:
        parts.append(phrase("exit", lang, code=facts.exit_code))
    if facts.failure:
        parts.append(facts.failure[:MAX_WHY])
    return phrase("why", lang, why=": ".join(parts)) if parts else ""


RULE = Rule("repeated_failure", look)
