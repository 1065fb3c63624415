"""After a compaction: the prohibitions that hold, and the commands that still fail."""

from __future__ import annotations

from pmem.core.bank import Entry
from pmem.core.decision import Reminder, Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.text import shorten
from pmem.memory.rules import known_remedy
from pmem.memory.rules.phrases import phrase, steps, task_language
from pmem.memory.rules.places import attempts_entry
from pmem.memory.rules.prohibition import in_force
from pmem.memory.rules.rule import Rule
from pmem.memory.rules.runs import told, why

#: A digest names at most so many of each, and is at most so long.
MAX_EACH = 4
MAX_WORDS = 150
MAX_CHARS = 1000
#: A prohibition is quoted up to so many words and characters.
QUOTED = (30, 160)
#: How many of the newest steps are looked at for what is open.
REACH = 60


def look(moment: Moment) -> Reminder | None:
    """One reminder of what the agent's summary may have lost; None if there is nothing of it."""
    if moment.trigger is not Trigger.COMPACTION:
        return None
    lang = task_language(moment)
    rules = _rules(moment)
    failing = [(f, entry) for f in _open(moment) if (entry := attempts_entry(f, moment))]
    if not rules and not failing:
        return None
    parts = []
    if rules:
        quotes = "; ".join(shorten(rule.content, *QUOTED) for rule in rules)
        parts.append(phrase("digest_rules", lang, rules=quotes))
    if failing:
        named = "; ".join(_told(f, moment, lang) for f, _ in failing)
        parts.append(phrase("digest_open", lang, commands=named))
    last = moment.last_step
    return Reminder(
        shorten(" ".join(parts), MAX_WORDS, MAX_CHARS),
        (*(rule.id for rule in rules), *(entry.id for _, entry in failing)),
        reason=RULE.name,
        cause=f"digest:{last.number if last else 0}",
        whole=True,
    )


def _rules(moment: Moment) -> list[Entry]:
    """The prohibitions in force, as entries: the user's words first, then the rule files."""
    found = (moment.bank.get(id) for _, id, _ in in_force(moment))
    return [entry for entry in found if entry is not None][:MAX_EACH]


def _open(moment: Moment) -> list[Facts]:
    """The commands whose newest run failed and that passed in no other form since, in order."""
    newest: dict[tuple[str, str], Facts] = {}
    for one in list(moment.history.facts)[-REACH:]:
        if one.kind == "command" and one.normal:
            newest.pop((one.normal, one.cwd), None)
            newest[one.normal, one.cwd] = one
    failing = [f for f in newest.values() if f.failed]
    return [f for f in failing if known_remedy.variant(moment, f) is None][-MAX_EACH:]


def _told(facts: Facts, moment: Moment, lang: str) -> str:
    at = steps([facts.number], lang)
    return phrase(
        "digest_failed", lang, command=told(facts, moment, lang), at=at, why=why(facts, lang)
    )


RULE = Rule("digest", look)
