"""The ring with a model beside it, and models that wait until a test lets them answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from pmem.core.bank import BankOp, MemoryBank
from pmem.core.event import Answer, Observed
from pmem.core.step import Step
from pmem.memory.model import STYLES, ModelAgent, Style
from pmem.memory.rules import Rules
from pmem.models.prices import load_prices
from pmem.models.protocol import ChatModel, Reply, Request
from pmem.models.scripted import ScriptedModel
from pmem.session.ledger import Ledger, Limits
from pmem.session.mind import Mind
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session
from pmem.session.thinking import Thinking

HOOK = Channel("hook:test", can_hold=True)
FACT = {"id": "db", "content": "db.h comes from libdb-dev, which is not installed (step 1)."}
TOLD = "make failed at step 1: db.h is in libdb-dev."
WRITES = {
    "phase": "manage",
    "calls": [{"name": "memory_save_knowledge", "arguments": FACT}],
}
SAYS = {
    "phase": "decide",
    "text": f'<context_for_action entries="db">{TOLD}</context_for_action>',
}
NOTHING = {"text": "<no_intervention/>", "times": 0}


class Gated(ScriptedModel):
    """A slow model: an answer comes only when the test lets one through."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        super().__init__(replies)
        self.gate = threading.Semaphore(0)
        self.arrived = threading.Semaphore(0)

    def ask(self, request: Request) -> Reply:
        self.arrived.release()
        self.gate.acquire()
        return super().ask(request)

    def let(self, calls: int) -> None:
        for _ in range(calls):
            self.gate.release()

    def close(self) -> None:
        super().close()
        self.let(99)


class Kept:
    """A bank in memory and a log in lists."""

    def __init__(self) -> None:
        self.bank = MemoryBank()
        self.cited: set[str] = set()
        self.strange: frozenset[str] = frozenset()
        self.decisions: list[dict[str, Any]] = []

    def refresh(self) -> bool:
        return False

    def apply(self, ops: Sequence[BankOp]) -> None:
        for op in ops:
            self.bank.apply(op)

    def step(self, step: Step) -> None:
        pass

    def describe(self, *, task: str) -> None:
        pass

    def decision(self, record: dict[str, Any]) -> None:
        self.decisions.append(record)


class Ring:
    """A session with a model beside it."""

    def __init__(
        self,
        model: ChatModel,
        *,
        style: Style = STYLES["selective"],
        sync: bool = False,
        timeout: float = 30.0,
        limits: Limits = Limits(),  # noqa: B008
        deliver: str = "both",
        call_timeout: float = 60.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.kept = Kept()
        self.raw: list[Any] = []
        self.mind = Mind(ModelAgent(model, style, timeout=call_timeout), sync=sync, timeout=timeout)
        ledger = Ledger("anthropic:claude-sonnet-4-5", load_prices(), limits, keep=self.raw.append)
        self.thinking = Thinking(self.mind, ledger)
        outside = Outside(self.kept, self.kept, Rules(), thinking=self.thinking, clock=clock)
        self.session = Session(outside, id="20260102-030405-test", project="/p", deliver=deliver)

    def ran(self, command: str, output: str = "", code: int = 0, channel: Channel = HOOK) -> Answer:
        step = Step(0, "command", command, output, exit_code=code, cwd="/p")
        return self.session.handle(Observed(step), channel)

    def settle(self) -> None:
        """Until the model has answered all it was asked."""
        assert self.mind.wait(None)

    def said(self) -> list[str]:
        return [d["text"] for d in self.kept.decisions if d["decision"] == "remind"]

    def model_lines(self) -> list[dict[str, Any]]:
        return [d for d in self.kept.decisions if "model" in d]
