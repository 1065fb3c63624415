"""Facts of the project that steps have shown: which command runs the tests, what listens where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pmem.core.bank import BankOp, SaveKnowledge
from pmem.core.effect import Effect
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.signature import parse
from pmem.core.step import Step
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import quoted
from pmem.memory.rules.recent import back
from pmem.memory.rules.work import work_of

#: How many of the newest steps are looked at.
FRESH = 8
#: Kinds of work that are told, and how.
_TOLD = {"test": "runs the tests", "lint": "runs the linter", "build": "builds"}
_LISTENS = re.compile(
    r"(?:listening|running|serving|started|ready|available|server)\b[^\n]{0,60}?"
    r"(?:\bport[ :=]+|https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):)(\d{2,5})\b",
    re.IGNORECASE,
)


def keep(moment: Moment) -> Sequence[BankOp]:
    """New facts only: of two commands that do the same work the shorter one is kept."""
    best: dict[str, Facts] = {}
    for facts in back(moment, FRESH):
        for work in _works(facts):
            if work not in best or len(facts.normal) <= len(best[work].normal):
                best[work] = facts
    ops: list[BankOp] = []
    for work, facts in best.items():
        id = entry_id("how to", work)
        old = moment.bank.get(id)
        known = old.content.split("`")[1:2] if old is not None else []
        if not known or len(facts.normal) < len(known[0]):
            content = f"{quoted(facts.normal)} {_TOLD[work]}: it passed at step {facts.number}."
            source = f"step {facts.number} of {moment.session}"
            ops.append(SaveKnowledge(id, content, ("fact",), source))
    for step in moment.window:
        if step.kind == "command":
            ops += _listens(step, moment)
    return ops


def _works(facts: Facts) -> Iterator[str]:
    if facts.kind != "command" or facts.failed or facts.refused:
        return
    if facts.effect is Effect.READS or len(parse(facts.normal)) != 1:
        return
    yield from (work for work in work_of(facts.normal) if work in _TOLD)


def _listens(step: Step, moment: Moment) -> Iterator[BankOp]:
    found = _LISTENS.search(step.observation[-4000:])
    if found is None:
        return
    id = entry_id("port", found[1])
    if moment.bank.get(id) is None:
        content = (
            f"Port {found[1]}: {quoted(step.action)} said it listens there (step {step.number})."
        )
        yield SaveKnowledge(id, content, ("fact",), f"step {step.number} of {moment.session}")
