"""Sessions and replays as they are left on disk, made by the real parts with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.core.event import Observed, UserMessage
from pmem.core.redact import redact
from pmem.core.step import Step
from pmem.evaluation.replay import replay
from pmem.memory.arms import arm_named, memory_agent
from pmem.models.prices import Prices
from pmem.models.recorded import Recorded
from pmem.models.scripted import ScriptedModel
from pmem.session.in_memory import BankInMemory
from pmem.session.ledger import Ledger
from pmem.session.mind import Mind
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session
from pmem.session.thinking import Thinking
from pmem.store.session_log import SessionLog

TASK = "Make the build pass."
FACT = "step 2: db.h comes from libdb-dev, which is not installed"
TOLD = "make failed at step 2: db.h comes from libdb-dev, not installed."
SAID = f'<context_for_action entries="make">{TOLD}</context_for_action>'
KEPT = {"name": "memory_save_knowledge", "arguments": {"id": "db", "content": FACT}}
#: Keeps a fact when it sees the build fail, and speaks of it; else it is silent.
REPLIES: list[Mapping[str, Any]] = [
    {"phase": "manage", "contains": "db.h: No such file", "calls": [KEPT]},
    {"phase": "decide", "contains": "db.h: No such file", "text": SAID},
    {"text": "<no_intervention/>", "times": 0},
]


def step(number: int, action: str, output: str = "", code: int = 0) -> Step:
    return Step(number, "command", action, output, exit_code=code, cwd="/p", started=1e9 + number)


#: A build that fails, its remedy, and quiet work.
FOLLOWED = [
    step(1, "ls", "Makefile"),
    step(2, "make", "fatal error: db.h: No such file", 2),
    step(3, "apt-get install -y libdb-dev", "Setting up libdb-dev"),
    *(step(n, f"touch f{n}") for n in range(4, 12)),
]
#: The same, but nobody listens: it fails as it did.
IGNORED = [*FOLLOWED[:2], step(3, "make", "fatal error: db.h: No such file", 2), *FOLLOWED[3:]]


def session(
    state: Path,
    name: str,
    steps: Sequence[Step],
    *,
    task: str = TASK,
    replies: Sequence[Mapping[str, Any]] = REPLIES,
    channel: str = "claude",
    deliver: str = "both",
) -> Path:
    """The directory that a live session with a scripted model leaves; the model is waited for."""
    log = SessionLog(state, name, {"agent": "claude"})
    model = ScriptedModel(replies)
    arm = arm_named("selective", model, redact=redact)
    assert arm.mind is not None
    ledger = Ledger("scripted", Prices({}), keep=log.call, redact=redact)
    thinking = Thinking(Mind(arm.mind, sync=True), ledger)
    outside = Outside(BankInMemory(), log, arm.reflexes, thinking, redact=redact, clock=lambda: 1e9)
    ring = Session(outside, id=name, deliver=deliver)
    way = Channel(channel)
    ring.handle(UserMessage(task), way)
    for one in steps:
        ring.handle(Observed(one), way)
    ring.close()
    log.close()
    return log.dir


def rows(folder: Path) -> list[dict[str, Any]]:
    lines = [*(folder / "train.jsonl").open(), *(folder / "validation.jsonl").open()]
    return [json.loads(line) for line in lines]


def answers(folder: Path) -> list[str]:
    return [row["messages"][-1]["content"] for row in rows(folder)]


def replayed(folder: Path, model: Any, steps: Any = FOLLOWED, task: str = TASK) -> None:
    """A replay as `--prompts-to` keeps it."""
    memory = memory_agent("selective", Recorded(model, folder))
    assert memory is not None
    replay({"task": task}, [one.to_json() for one in steps], memory)
