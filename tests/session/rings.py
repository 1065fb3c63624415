"""The ring without files: a session on a bank in memory, and the events it is told."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from pmem.core.bank import BankOp, SaveKnowledge
from pmem.core.decision import Decision, Silence
from pmem.core.event import Observed, Proposed
from pmem.core.moment import Changed, Moment
from pmem.core.redact import redact
from pmem.core.step import Action, Step
from pmem.session.in_memory import BankInMemory, LogInMemory
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session

HOOK = Channel("hook:test", can_hold=True)
SHELL = Channel("shell")
BUILD = "sh build.sh"
BROKEN = "src/main.c:4: error: expected ';' before 'return'\nmake: *** [all] Error 1\n"


class Kept(BankInMemory, LogInMemory):
    """A bank in memory and a log in lists: the ring without files."""

    def __init__(self) -> None:
        BankInMemory.__init__(self)
        LogInMemory.__init__(self)


class Recorder:
    """A memory agent that keeps the moments it is shown and says what it is told to."""

    name = "recorder"

    def __init__(self, say: Callable[[Moment], Decision] | None = None) -> None:
        self.say = say or (lambda moment: Silence("told to"))
        self.managed: list[Moment] = []

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        self.managed.append(moment)
        return [SaveKnowledge("port", "The server listens on port 8080 (step 1).")]

    def decide(self, moment: Moment) -> Decision:
        return self.say(moment)


def ring(memory: Any, kept: Kept, **options: Any) -> Session:
    ticks = itertools.count(1000.0)
    outside = Outside(
        bank=kept,
        log=kept,
        memory=memory,
        redact=redact,
        rule_files=options.pop("rule_files", tuple),
        changed_since=options.pop("changed_since", lambda since: Changed.NO),
        is_private=options.pop("is_private", lambda command: False),
        recorded=options.pop("recorded", frozenset),
        marks=options.pop("marks", lambda entries: ()),
        clock=lambda: next(ticks),
    )
    return Session(outside, id="20260102-030405-test", project="/p", **options)


def ran(command: str, output: str = "", code: int = 0, **more: Any) -> Observed:
    return Observed(Step(0, "command", command, output, exit_code=code, cwd="/p", **more))


def wants(command: str) -> Proposed:
    return Proposed(Action("command", command, cwd="/p"))
