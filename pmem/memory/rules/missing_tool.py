"""A tool that is not installed here is about to be used again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from pmem.core.bank import BankOp, SaveKnowledge
from pmem.core.decision import Reminder, Trigger
from pmem.core.moment import Moment
from pmem.core.signature import parse
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import data, phrase, steps, task_language
from pmem.memory.rules.recent import back, installs
from pmem.memory.rules.rule import Rule

#: Characters of an output in which a missing tool is looked for, from its end.
MAX_OUTPUT = 8000
_SOURCE = re.compile(r"step (\d+) of (.*)")


def keep(moment: Moment) -> Sequence[BankOp]:
    """What a shell or a program did not find, as a fact."""
    step = moment.last_step
    if (
        moment.trigger is not Trigger.FAILURE
        or step is None
        or step.kind not in ("command", "edit")
    ):
        return ()
    ops: list[BankOp] = []
    for name, line in _missing(step.observation[-MAX_OUTPUT:]):
        content = f"`{name}` is not installed here (step {step.number}: {line[:120]})."
        source = f"step {step.number} of {moment.session}"
        ops.append(SaveKnowledge(_id(name), content, ("tool",), source))
    return ops


def look(moment: Moment) -> Reminder | None:
    """Silent if anything was installed since, if it worked since, and behind `||` or `which`."""
    action = moment.proposed
    if action is None or action.kind != "command" or "||" in action.text:
        return None
    for name in _used(action.text):
        entry = moment.bank.get(_id(name))
        told = _SOURCE.fullmatch(entry.source) if entry is not None else None
        if entry is None or told is None or told[2] != moment.session:
            continue
        since = int(told[1])
        if _there_now(name, since, moment):
            continue
        lang = task_language(moment)
        text = phrase("missing_tool", lang, tool=name, steps=steps([since], lang))
        return Reminder(text, (entry.id,), reason=RULE.name, cause=f"missing:{name}")
    return None


def _missing(output: str) -> Iterator[tuple[str, str]]:
    for line in output.splitlines():
        for pattern in _patterns():
            found = pattern.search(line)
            if found is not None:
                name = found["name"]
                yield (f"cargo {name}" if "such" in found[0] else name), line.strip()
                break


def _used(command: str) -> Iterator[str]:
    for part in parse(command):
        if part.words:
            name = part.words[0].rpartition("/")[2]
            yield name
            if len(part.words) > 1:
                yield f"{name} {part.words[1]}"


def _there_now(name: str, since: int, moment: Moment) -> bool:
    for facts in back(moment, len(moment.history.facts)):
        if facts.number <= since:
            return False
        if facts.kind not in ("command", "edit") or facts.failed:
            continue
        if installs(facts.normal) or name in _used(facts.normal):
            return True
    return False


def _id(name: str) -> str:
    return entry_id("missing", name)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p) for p in data("tools")["missing"])


RULE = Rule("missing_tool", look, keep, agents_only=True)
