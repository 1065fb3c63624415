"""Checks that a rule file or the user asks for have not been run since the last edit.

Told when a commit or a pull request is about to be made; at the finish only where the text speaks
of the finish, or where the task or the user asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pmem.core.bank import BankOp, SaveKnowledge, normal_id
from pmem.core.decision import Reminder, Trigger
from pmem.core.moment import Moment
from pmem.core.signature import located, parse
from pmem.memory.rules.passages import Sentence, sentences
from pmem.memory.rules.phrases import data, language, phrase, quoted, steps
from pmem.memory.rules.rule import Rule
from pmem.memory.rules.work import last_edit, newest_run, work_of

#: Work whose absence is worth a word. Formatting alone is not.
TOLD = ("test", "lint", "types")
_COMMITS = re.compile(r"\bgit commit\b(?!.*--(?:amend --no-edit|dry-run))|\bgh pr create\b")


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of work that a text asks for."""

    work: str
    line: int
    quote: str
    lang: str
    at_finish: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A check with where it stands and the id of its entry."""

    check: Check
    source: str
    id: str


def keep(moment: Moment) -> Sequence[BankOp]:
    """The checks as entries, when the rules are read."""
    if moment.trigger not in (Trigger.FIRST_STEP, Trigger.USER_MESSAGE, Trigger.COMPACTION):
        return ()
    ops: list[BankOp] = []
    for asked in _asked(moment):
        content = _said(asked, "en")
        old = moment.bank.get(asked.id)
        if old is None:
            ops.append(SaveKnowledge(asked.id, content, ("requirement",), asked.source))
    return ops


def look(moment: Moment) -> Reminder | None:
    """One check that is missing, quoted with its place."""
    committing = _commits(moment)
    if not committing and moment.trigger is not Trigger.FINISH:
        return None
    edit = last_edit(moment.history, code=True)
    if edit is None:
        return None
    asked = {
        a.check.work: a
        for a in reversed(list(_asked(moment)))
        if committing or a.check.at_finish or a.source in ("user", "task")
    }
    ran = {w: run for w in asked if (run := newest_run(w, moment.history, edit.number))}
    missing = [w for w in TOLD if w in asked and w not in ran]
    if not missing or moment.bank.get(asked[missing[0]].id) is None:
        return None
    one = asked[missing[0]]
    lang = one.check.lang
    work = phrase(f"work_{one.check.work}", lang)
    where = steps([edit.number], lang)
    if ran:
        run = max(ran.values(), key=lambda f: f.number)
        text = phrase(
            "requirement_partly",
            lang,
            said=_said(one, lang),
            edit=where,
            ran=quoted(run.normal),
            at=steps([run.number], lang),
            work=work,
        )
    else:
        text = phrase("requirement", lang, said=_said(one, lang), edit=where, work=work)
    return Reminder(text, (one.id,), reason=RULE.name, cause=f"requirement:{one.check.work}")


def _commits(moment: Moment) -> bool:
    action = moment.proposed
    if action is None or action.kind != "command" or not _COMMITS.search(action.text):
        return False
    _, cwd = located(action.text, action.cwd or "")
    if cwd.startswith("/") and (not moment.project or not cwd.startswith(moment.project)):
        return False  # a scratch repository
    return any(" ".join(c.words[:2]) in ("git commit", "gh pr") for c in parse(action.text))


def _asked(moment: Moment) -> Iterator[Asked]:
    texts = [("user", text) for _, text in moment.user_messages if text != moment.task]
    texts.append(("task", moment.task))
    texts += moment.rules_files
    for origin, text in texts:
        for check in checks(text):
            if origin in ("user", "task"):
                yield Asked(check, origin, normal_id(f"{origin} {check.quote}"))
            else:
                source = f"{origin}:{check.line}"
                yield Asked(check, source, normal_id(f"{source} {check.work}"))


@lru_cache(maxsize=64)
def checks(text: str) -> tuple[Check, ...]:
    """The checks a text asks for, the first statement of each kind of work."""
    found: dict[str, Check] = {}
    for sentence in sentences(text, code=True):
        lang = language(sentence.heading if sentence.code else sentence.text)
        words = data("requirements")[lang]
        about = sentence.heading if sentence.code else sentence.text
        if not re.search(words["asks"], about, re.I) or re.search(words["not"], about, re.I):
            continue
        for work in _works(sentence):
            quote = sentence.quote
            if sentence.code:
                quote = f"{sentence.heading}: {sentence.quote.partition('#')[0].strip()}"
            at_finish = re.search(words["finish"], about, re.I) is not None
            found.setdefault(work, Check(work, sentence.line, quote, lang, at_finish))
    return tuple(found.values())


def _works(sentence: Sentence) -> Iterator[str]:
    if sentence.code:
        yield from work_of(sentence.text.partition("#")[0])
        return
    codes = re.findall(r"`([^`]+)`", sentence.text)
    for code in codes:
        yield from work_of(code)
    if not codes:
        for work, (said, _) in data("prohibitions")["work"].items():
            if re.search(said, sentence.text, re.I):
                yield work


def _said(asked: Asked, lang: str) -> str:
    name = {"user": "user_said", "task": "task_says"}.get(asked.source, "says")
    return phrase(name, lang, source=asked.source, quote=asked.check.quote)


RULE = Rule("requirement", look, keep)
