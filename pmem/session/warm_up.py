"""Warming up: the first real event shall not wait for imports, grammars and word lists."""

from __future__ import annotations

from pmem.core.event import Observed, Proposed
from pmem.core.step import Action, Step
from pmem.memory.rules import Rules
from pmem.session.in_memory import BankInMemory, LogInMemory
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session


def warm_up(session: Session) -> None:
    """Go the whole ring a few times on a bank of its own, with the session's rule files."""
    outside = session.outside
    rehearsal = Session(
        Outside(
            bank=BankInMemory(),
            log=LogInMemory(),
            memory=Rules(),
            redact=outside.redact,
            rule_files=outside.rule_files,
        ),
        id="warm-up",
        project=session.project,
        task=session.task,
    )
    channel = Channel("none")
    failed = Step(0, "command", "cd x && make test", "make: *** [test] Error 1\n", exit_code=2)
    for _ in range(2):
        rehearsal.handle(Proposed(Action("command", "cd x && make test")), channel)
        rehearsal.handle(Observed(failed), channel)
    rehearsal.handle(Proposed(Action("command", "cd x && make test")), channel)
