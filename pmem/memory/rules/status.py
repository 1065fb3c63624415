"""The status: where the work stands, what is open and at risk. For the memory agent alone."""

from __future__ import annotations

from collections.abc import Sequence

from pmem.core.bank import BankOp, UpdateStatus
from pmem.core.decision import Trigger
from pmem.core.effect import Effect
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.signature import parse
from pmem.core.step import Action
from pmem.memory.rules.phrases import file_name, quoted
from pmem.memory.rules.recent import target
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
    work = [f for f in list(moment.history.facts)[-REACH:] if _is_work(f)]
    newest: dict[tuple[str, str], Facts] = {}
    for one in work:
        if one.kind == "command" and one.normal:
            newest[one.normal, one.cwd] = one
    failing = [f for f in newest.values() if f.failed]
    lines = []
    if moment.task:
        lines.append(f"Task: {' '.join(moment.task.split())[:160]}")
    lines.append(f"Progress: {_progress(work)}")
    if failing:
        lines.append("Open: " + "; ".join(_open(f, moment) for f in failing[-MAX_TOLD:]))
    risks = [
        f"{quoted(f.normal)} failed {len(same)} times alike"
        for f in failing
        if len(same := alike(moment.history.attempts(_action(f)))) > 1
    ]
    if risks:
        lines.append("Risks: " + "; ".join(risks[-MAX_TOLD:]))
    return "\n".join(lines)


def _is_work(facts: Facts) -> bool:
    """A step of the work itself: no message, nothing that was turned down, no look at pmem."""
    if facts.refused or facts.kind in ("user", "message", "compaction"):
        return False
    commands = parse(facts.normal) if facts.kind == "command" else ()
    return not commands or any(c.words and c.words[0] != "pmem" for c in commands)


def _progress(work: Sequence[Facts]) -> str:
    """The newest step of work, and the newest that was finished: a passed command or an edit."""
    if not work:
        return "nothing done yet"
    done = [f for f in work if not f.failed and (f.kind == "edit" or _did(f))]
    if not done:
        return f"step {work[-1].number}"
    last = done[-1]
    if last.kind == "edit":
        told = f"{quoted(file_name(target(last.normal)))} edited"
    else:
        told = f"{quoted(last.normal)} passed"
    return f"step {work[-1].number}; {told} at step {last.number}"


def _did(facts: Facts) -> bool:
    """Whether a command was more than a look at something."""
    return facts.kind == "command" and bool(facts.normal) and facts.effect is not Effect.READS


def _open(facts: Facts, moment: Moment) -> str:
    why = facts.failure or (f"exit {facts.exit_code}" if facts.exit_code else "no reason told")
    since = _first_failure(facts, moment)
    return f"{quoted(facts.normal)} fails since step {since} ({why[:100]})"


def _first_failure(facts: Facts, moment: Moment) -> int:
    """The step with which the failures of this command in a row began."""
    first = facts.number
    for one in reversed(moment.history.facts):
        if (one.kind, one.normal, one.cwd) != (facts.kind, facts.normal, facts.cwd) or one.refused:
            continue
        if not one.failed:
            break
        first = one.number
    return first


def _action(facts: Facts) -> Action:
    return Action("command", facts.normal, facts.cwd or None)
