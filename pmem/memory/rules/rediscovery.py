"""A look-up whose answer hardly changes (version, setting, package) is about to be made again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from pmem.core.bank import BankOp, Delete, SaveKnowledge
from pmem.core.decision import Reminder
from pmem.core.moment import Moment
from pmem.core.signature import parse
from pmem.core.text import quotation
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import data, phrase, quoted, steps, task_language
from pmem.memory.rules.recent import back, installs
from pmem.memory.rules.rule import Rule

#: A look-up is repeated if it was made more than so many steps ago.
GAP = 2
_STEP = re.compile(r"step (\d+) of (.*)")
_TALK = frozenset({"echo", "printf", "cd", "true", ":"})


def keep(moment: Moment) -> Sequence[BankOp]:
    """Look-ups of the window as facts, with the beginning of their answer."""
    ops: list[BankOp] = []
    for step in moment.window:
        if step.kind != "command" or step.refused:
            continue
        parts = list(_parts(step.action))
        ops += [Delete(_id(key)) for key in map(_set, parts) if key and moment.bank.get(_id(key))]
        looks = [part for part in parts if _looks_up(part)]
        for part in looks:
            if moment.bank.get(_id(part)) is None:
                answer = _answer(step.observation) if len(looks) == len(parts) == 1 else ""
                told = f" {answer}" if answer else ""
                content = f"`{part}` was looked up at step {step.number}.{told}"
                source = f"step {step.number} of {moment.session}"
                ops.append(SaveKnowledge(_id(part), content, ("fact",), source))
    return ops


def look(moment: Moment) -> Reminder | None:
    """Nothing else is done by the line, and most of it was looked up before in this session."""
    action = moment.proposed
    step = moment.last_step
    if action is None or step is None or action.kind != "command":
        return None
    parts = list(_parts(action.text))
    if not parts or not all(map(_looks_up, parts)):
        return None
    known = []
    for part in parts:
        entry = moment.bank.get(_id(part))
        at = _STEP.fullmatch(entry.source) if entry is not None else None
        if entry and at and at[2] == moment.session and step.number - int(at[1]) >= GAP:
            known.append((entry, int(at[1]), part))
    if 2 * len(known) <= len(parts) or _installed(min(at for _, at, _ in known), moment):
        return None
    lang = task_language(moment)
    text = phrase(
        "rediscovery",
        lang,
        commands=", ".join(quoted(part) for _, _, part in known[:3]),
        steps=steps(sorted({at for _, at, _ in known}), lang),
    )
    return Reminder(
        text,
        tuple(e.id for e, _, _ in known),
        reason=RULE.name,
        cause=f"again:{known[0][2]}",
    )


def _installed(since: int, moment: Moment) -> bool:
    return any(f.number > since and installs(f.normal) for f in back(moment, 500))


def _parts(command: str) -> Iterator[str]:
    for part in parse(command):
        if part.words and part.words[0] not in _TALK:
            yield " ".join(w for w in part.words if w != "--get")


def _looks_up(part: str) -> bool:
    return _patterns().match(part) is not None


def _set(part: str) -> str:
    """The look-up that a setting makes stale: `git config user.name Kim` that of user.name."""
    match = re.match(r"(git config(?: --\w+)* [\w.]+) \S", part)
    return match[1] if match else ""


def _answer(observation: str) -> str:
    line = observation.strip().partition("\n")[0].strip()
    return f"It said: {quotation(line[:120])}" if line else "It said nothing."


@cache
def _patterns() -> re.Pattern[str]:
    return re.compile("|".join(data("tools")["look_ups"]))


def _id(part: str) -> str:
    return entry_id("fact", part)


RULE = Rule("rediscovery", look, keep, agents_only=True)
