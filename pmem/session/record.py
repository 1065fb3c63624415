"""What a decision leaves behind: the line in decisions.jsonl, and the entries it cites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmem.core.bank import Entry, MemoryBank
from pmem.core.decision import Decision, Reminder
from pmem.core.event import Answer, Citation
from pmem.core.moment import Moment
from pmem.store.bank_entry import to_table


def citations(reminder: Reminder, bank: MemoryBank) -> tuple[Citation, ...]:
    """The cited entries as they stand now, for the banner."""
    found = (bank.get(id) for id in reminder.entries)
    return tuple(Citation(e.id, e.content, _steps(e)) for e in found if e is not None)


def decision_record(
    moment: Moment,
    candidate: Reminder | None,
    verdict: Decision,
    answer: Answer,
    *,
    channel: str,
    before_step: int,
    now: float,
    milliseconds: float,
    cost: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """One line of decisions.jsonl. `now` is in Unix seconds; a silence says why.

    `cost` is what a model's calls behind the candidate took.
    """
    record: dict[str, Any] = {
        "before_step": before_step,
        "time": round(now, 3),
        "trigger": str(moment.trigger),
        "decision": "silent",
        "ms": round(milliseconds, 3),
    }
    if moment.proposed is not None:
        record["proposed"] = moment.proposed.text[:400]
    if candidate is not None:
        record["candidate"] = candidate.text
        record["reason"] = candidate.reason
        record["cause"] = candidate.cause
        if candidate.form:
            record["form"] = candidate.form
        cited = (moment.bank.get(id) for id in candidate.entries)
        record["cited"] = [
            {"section": e.section, **to_table(e), "steps": list(_steps(e))}
            for e in cited
            if e is not None
        ]
    if cost is not None:
        record["model"] = dict(cost)
    if isinstance(verdict, Reminder):
        record |= {
            "decision": "remind",
            "text": verdict.text,
            "entries": list(verdict.entries),
            "delivery": str(answer.delivery) if answer.delivery else "none",
            "channel": channel,
            "hold": answer.hold,
            **({"audience": answer.audience} if answer.audience != "both" else {}),
        }
    else:
        record["verdict"] = verdict.why
    return record


def _steps(entry: Entry) -> tuple[int, ...]:
    steps = (*entry.failed_steps, *entry.passed_steps)
    if steps:
        return tuple(sorted(steps))
    return tuple(n for n in (entry.first_step,) if n is not None)
