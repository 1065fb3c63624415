"""The user turned this very action down, and has not asked for it since."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pmem.core.bank import BankOp, SaveKnowledge
from pmem.core.decision import Reminder
from pmem.core.effect import Effect
from pmem.core.failure import is_refused
from pmem.core.moment import Moment
from pmem.core.signature import normal_form
from pmem.core.step import Action, Step
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import phrase, quoted, steps, task_language
from pmem.memory.rules.recent import back
from pmem.memory.rules.rule import Rule

_STEP = re.compile(r"step (\d+) of (.*)")
#: Words with which a user lets it be done after all.
_LETS = re.compile(
    r"^\W*(?:ok(?:ay)?|yes|yep|go ahead|do it|sure|please do|fine|try again|continue|proceed|retry"
    r"|네|응|그래|좋아|해도 돼|진행|はい|いいよ|どうぞ|続けて|好|可以|行|继续|是的)\b",
    re.I,
)


def keep(moment: Moment) -> Sequence[BankOp]:
    """What was turned down in the window, as a fact."""
    ops: list[BankOp] = []
    for step in moment.window:
        if not _acts(step) or not _turned_down(step):
            continue
        id = _id(step.kind, step.action)
        if moment.bank.get(id) is None:
            what = quoted(normal_form(step.action) if step.kind == "command" else step.action)
            content = f"The user turned down {what} at step {step.number}."
            source = f"step {step.number} of {moment.session}"
            ops.append(SaveKnowledge(id, content, ("constraint",), source))
    return ops


def look(moment: Moment) -> Reminder | None:
    """The same command, or the same edit to the letter."""
    action = moment.proposed
    if action is None or not _acts(action):
        return None
    entry = moment.bank.get(_id(action.kind, action.text))
    at = _STEP.fullmatch(entry.source) if entry is not None else None
    if entry is None or at is None or at[2] != moment.session:
        return None
    since = int(at[1])
    if any(number > since and _LETS.match(text) for number, text in moment.user_messages):
        return None
    if any(f.number > since and f.effect is Effect.CHANGES for f in back(moment, 500)):
        return None  # work went on; it may be wanted now
    lang = task_language(moment)
    text = phrase("refused", lang, what=quoted(action.text), at=steps([since], lang))
    return Reminder(text, (entry.id,), reason=RULE.name, cause=f"refused:{entry.id}")


def _acts(action: Action | Step) -> bool:
    return action.kind in ("command", "edit", "tool")


def _turned_down(step: Step) -> bool:
    """Whether the agent says so, and not a page or a program that begins in the same words."""
    in_its_words = step.is_error and step.exit_code is None and step.kind != "tool"
    return step.refused or (bool(in_its_words) and is_refused(step))


def _id(kind: str, text: str) -> str:
    return entry_id("refused", normal_form(text) if kind == "command" else text)


RULE = Rule("refused", look, keep)
