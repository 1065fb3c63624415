"""The status: where the work stands, what is open and at risk. For the memory agent alone."""

from __future__ import annotations

from collections.abc import Sequence

from pmem.core.bank import BankOp, UpdateStatus
from pmem.core.decision import Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.step import Action
from pmem.memory.rules.phrases import quoted
from pmem.memory.rules.runs import alike

#: Open ends and risks told at most.
MAX_TOLD = 4
#: How many of the newest steps are looked at.
REACH = 60


def keep(moment: Moment) -> Sequence[BankOp]:
    """The status anew, if it reads differently."""
    if moment.trigger is Trigger.PROPOSED:
        return ()
    text = write(moment)
    return [UpdateStatus(text)] if text != moment.bank.status else ()


def write(moment: Moment) -> str:
    """Progress, open ends and risks, a few lines."""
    facts = list(moment.history.facts)[-REACH:]
    newest: dict[tuple[str, str], Facts] = {}
    for one in facts:
        if one.kind == "command" and one.normal:
            newest[one.normal, one.cwd] = one
    failing = [f for f in newest.values() if f.failed]
    passed = [f for f in newest.values() if not f.failed]
    lines = []
    if moment.task:
        lines.append(f"Task: {' '.join(moment.task.split())[:160]}")
    lines.append(f"Progress: {_progress(moment, passed)}")
    if failing:
        lines.append("Open: " + "; ".join(_open(f) for f in failing[-MAX_TOLD:]))
    risks = [
        f"{quoted(f.normal)} failed {len(same)} times alike"
        for f in failing
        if len(same := alike(moment.history.attempts(_action(f)))) > 1
    ]
    if risks:
        lines.append("Risks: " + "; ".join(risks[-MAX_TOLD:]))
    return "\n".join(lines)


def _progress(moment: Moment, passed: Sequence[Facts]) -> str:
    step = moment.last_step
    if step is None:
        return "nothing done yet"
    last = f"; {quoted(passed[-1].normal)} passed at step {passed[-1].number}" if passed else ""
    return f"step {step.number}{last}"


def _open(facts: Facts) -> str:
    why = facts.failure or (f"exit {facts.exit_code}" if facts.exit_code else "no reason told")
    return f"{quoted(facts.normal)} fails since step {facts.number} ({why[:100]})"


def _action(facts: Facts) -> Action:
    return Action("command", facts.normal, facts.cwd or None)
