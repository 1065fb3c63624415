"""Account: what a session came to, in figures and in what was said; for the report."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pmem.core.bank import Entry
from pmem.core.signature import located
from pmem.core.step import ACTING_KINDS
from pmem.review.after import HELPED, LOOKED_AT, REPEATED, UNCLEAR, After, after, failed
from pmem.review.recorded import Mark, Recorded, mark_of
from pmem.review.spent import of_model
from pmem.store import files
from pmem.store.bank_rescue import read
from pmem.store.bank_toml import BankError
from pmem.store.sessions import SessionInfo

#: Steps shown before and after what was said.
BEFORE, AFTERWARDS = 2, 3
#: Reminders, and silences over a candidate, that a page shows.
MAX_TOLD, MAX_SILENCES = 200, 100


@dataclass(frozen=True, slots=True)
class Told:
    """A reminder with what stood before it and what came after."""

    decision: Mapping[str, Any]
    step: int
    before: Sequence[Mapping[str, Any]]
    following: Sequence[Mapping[str, Any]]
    came: After


@dataclass
class Account:
    """One session. `steps` counts all, `acting` those that act, `failed` those that failed;
    `repeats` are failures of a command that had failed the last time as well."""

    info: SessionInfo
    steps: int = 0
    acting: int = 0
    failed: int = 0
    repeats: int = 0
    decisions: int = 0
    told: list[Told] = field(default_factory=list)
    held_back: list[Mapping[str, Any]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    spent: Mapping[str, Any] = field(default_factory=dict)
    #: (number, failed) of each acting step, and (step, mark) of each decision that matters.
    outcomes: list[tuple[int, bool]] = field(default_factory=list)
    marks: list[tuple[int, Mark]] = field(default_factory=list)

    @property
    def holds(self) -> int:
        """Actions that were put back."""
        return sum(1 for one in self.told if one.decision.get("hold"))

    @property
    def silence(self) -> float:
        """The share of acting steps without a reminder."""
        return 1 - min(len(self.told), self.acting) / self.acting if self.acting else 1.0

    @property
    def verdicts(self) -> Counter[str]:
        """How many reminders seem to have helped, were not followed, or cannot be told."""
        return Counter(one.came.verdict for one in self.told)


def account(recorded: Recorded) -> Account:
    """The account of a session; its steps are read once, from first to last."""
    made = Account(recorded.info)
    last: dict[tuple[str, str], bool] = {}
    for _, step in recorded.steps.forward(0):
        made.steps += 1
        if step.get("kind") not in ACTING_KINDS:
            continue
        made.acting += 1
        bad = failed(step)
        made.failed += bad
        made.outcomes.append((step["step"], bad))
        if step["kind"] == "command":
            form = _form(str(step.get("action") or ""), str(step.get("cwd") or ""))
            made.repeats += bad and last.get(form, False)
            last[form] = bad
    decisions = [decision for _, decision in recorded.decisions.forward(0)]
    made.decisions = len(decisions)
    for decision in decisions:
        mark = mark_of(decision)
        at = recorded.place(decision["before_step"])
        if mark >= Mark.HELD_BACK:
            made.marks.append((at, mark))
        if mark >= Mark.SPOKE:
            made.told.append(_told(recorded, decision, at))
        elif mark is Mark.HELD_BACK:
            made.held_back.append(decision)
    made.spent = of_model(decisions)
    made.entries = bank_of(recorded)
    return made


def bank_of(recorded: Recorded) -> list[Entry]:
    """The bank as it was when the session ended, [] while it runs."""
    with contextlib.suppress(OSError, BankError):
        content, _ = files.read_file(recorded.info.path / "bank.toml")
        return list(read(content).entries.values())
    return []


def _told(recorded: Recorded, decision: Mapping[str, Any], at: int) -> Told:
    start = int(decision["before_step"])
    near = recorded.page(start - 2 * BEFORE - 2, start + LOOKED_AT + 4)
    acts = [s for _, s in near if s is not None and s.get("kind") in ACTING_KINDS]
    before = [s for s in acts if s["step"] < start][-BEFORE:]
    following = [s for s in acts if s["step"] >= start]
    return Told(decision, at, before, following[:AFTERWARDS], after(decision, following))


@lru_cache(maxsize=4096)
def _form(action: str, cwd: str) -> tuple[str, str]:
    return located(action, cwd)


def in_words(accounts: Sequence[Account]) -> dict[str, Any]:
    """The figures of one session or of several, for programs: `pmem report --json`."""
    verdicts: Counter[str] = sum((a.verdicts for a in accounts), Counter())
    acting = sum(a.acting for a in accounts)
    told = sum(len(a.told) for a in accounts)
    return {
        "sessions": len(accounts),
        "steps": sum(a.steps for a in accounts),
        "acting": acting,
        "failed": sum(a.failed for a in accounts),
        "repeated_failures": sum(a.repeats for a in accounts),
        "reminders": told,
        "holds": sum(a.holds for a in accounts),
        "seem_to_have_helped": verdicts[HELPED],
        "not_followed": verdicts[REPEATED],
        "cannot_be_told": verdicts[UNCLEAR],
        "silences_over_a_candidate": sum(len(a.held_back) for a in accounts),
        "silence_rate": round(1 - min(told, acting) / acting, 6) if acting else 1.0,
        "tokens": sum(int(a.spent.get("tokens", 0)) for a in accounts),
        "money": round(sum(float(a.spent.get("money", 0)) for a in accounts), 4),
    }
