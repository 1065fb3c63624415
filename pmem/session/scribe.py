"""Scribe: a step is numbered, cleaned of secrets, and written down: history, log, bank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pmem.core.bank import MAX_ENTRIES, BankOp, SaveKnowledge, SaveProcedural, UpdateStatus
from pmem.core.history import Facts
from pmem.core.step import Action, Step
from pmem.session.fold import attempt
from pmem.session.lane import Lane
from pmem.session.outside import Outside
from pmem.session.private import withheld


@dataclass
class Tally:
    """What the end line tells."""

    steps: int = 0
    reminders: int = 0
    holds: int = 0
    made: set[str] = field(default_factory=set)


class Scribe:
    """Writes for one session. `next_number` is the number the next step gets."""

    def __init__(
        self, outside: Outside, tally: Tally, *, session: str, project: str, first_number: int
    ) -> None:
        self.outside = outside
        self.tally = tally
        self.session = session
        self.project = project
        self.next_number = first_number
        self._begun = False

    def begin(self) -> None:
        """What earlier sessions left: facts and attempts as far as they still hold; no status."""
        if self._begun:
            return
        self._begun = True
        bank = self.outside.bank.bank
        ops: list[BankOp] = list(self.outside.marks(bank.entries.values()))
        if bank.status and self.outside.alone():
            ops.append(UpdateStatus(""))
        if ops:
            self.outside.bank.apply(ops)

    def stale(self, ids: Sequence[str]) -> str:
        """Why one of these entries is not to be relied on, "" if nothing speaks against any."""
        self._mark(ids)
        for entry in map(self.outside.bank.bank.get, ids):
            if entry is not None and entry.stale:
                return f"{entry.id} is stale: {entry.stale}"
        return ""

    def cleaned(self, action: Action) -> Action:
        """The action without secrets."""
        return replace(action, text=self.outside.redact(action.text))

    def numbered(self, step: Step) -> Step:
        """The step with the next number, without secrets; a private one without its words."""
        if step.kind == "command" and self.outside.is_private(step.action):
            step = withheld(step)
        number = self.next_number
        self.next_number += 1
        redact, now = self.outside.redact, self.outside.clock()
        return replace(
            step,
            number=number,
            action=redact(step.action),
            observation=redact(step.observation),
            thought=redact(step.thought),
            started=now - (step.seconds or 0.0) if step.started is None else step.started,
        )

    def record(self, lane: Lane, step: Step) -> Facts:
        """Put a numbered step into its lane and the log."""
        facts = lane.history.observe(step)
        lane.trajectory.append(step)
        self.outside.log.step(step)
        return facts

    def fold(self, done: Iterable[tuple[Step, Facts]]) -> None:
        """Fold finished commands into the bank."""
        project, session = self.project, self.session
        ops = [attempt(step, facts, project=project, session=session) for step, facts in done]
        if any(ops):
            self.apply([op for op in ops if op is not None])

    def keep(self, ops: Sequence[BankOp]) -> None:
        """Apply what the reflexes keep; the status is the model's where there is one."""
        if self.outside.thinking is not None:
            ops = [op for op in ops if not isinstance(op, UpdateStatus)]
        if ops:
            self.apply(ops)

    def apply(self, ops: Sequence[BankOp]) -> None:
        """Carry operations out on the bank; entries that are new are this session's."""
        known = set(self.outside.bank.bank.entries)
        self.outside.bank.apply(ops)
        self._mark([op.id for op in ops if isinstance(op, SaveKnowledge | SaveProcedural)])
        entries = self.outside.bank.bank.entries
        self.tally.made |= entries.keys() - known
        if len(self.tally.made) > 2 * MAX_ENTRIES + len(entries):  # those that left count no more
            self.tally.made &= entries.keys()

    def _mark(self, ids: Sequence[str]) -> None:
        """Note what these entries cite, and whether it still says the same."""
        found = map(self.outside.bank.bank.get, ids)
        marks = self.outside.marks([entry for entry in found if entry is not None])
        if marks:
            self.outside.bank.apply(marks)
