"""The library: memory for a loop of one's own, in the paper's shape.

    from pmem import MemoryBank, memory_agent_step

    bank = MemoryBank()
    reminder = memory_agent_step(task, steps[-8:], bank, model="anthropic:claude-sonnet-5-5")

Nothing is written to disk, and nothing is remembered between calls but what is in the bank.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pmem.core import json_text
from pmem.core.bank import MemoryBank
from pmem.core.decision import Reminder, Trigger
from pmem.core.guard import Said, guard
from pmem.core.history import History
from pmem.core.moment import Moment
from pmem.core.step import Step
from pmem.memory.model import ModelAgent
from pmem.memory.model.parse import parse_intervention, parse_tool_calls
from pmem.memory.model.style import PURE, STYLES
from pmem.memory.model.tools import carry_out
from pmem.models.named import model_named
from pmem.models.protocol import ChatModel

__all__ = ["MemoryBank", "apply_memory_tool_calls", "memory_agent_step", "parse_intervention"]

#: One step of a window: a Step, its neutral line, or an (action, observation) pair.
AnyStep = Step | Mapping[str, Any] | tuple[str, str]


def memory_agent_step(
    task: str,
    recent_window: Sequence[AnyStep],
    memory_bank: MemoryBank,
    *,
    model: ChatModel | str | None = None,
    arm: str = "selective",
    pure: bool = False,
    timeout: float = 60.0,
) -> str | None:
    """Both phases once: the bank is brought up to date, and a reminder or None is returned.

    `recent_window` holds the last steps, oldest first; a step is a `Step`, a mapping with
    `action` and `observation` (and `step`, `exit_code`, … where known), or a pair of the two.
    `model` is a name such as `anthropic:NAME` or `command:PROGRAM`, or a ChatModel; without it
    the variable PMEM_MODEL names it. `timeout` is in seconds a call. The bank is changed.

    Raises ValueError if no model is named, and ModelError (from `pmem.models.protocol`) if it
    cannot be asked; what it answers never raises.
    """
    if arm not in STYLES:
        raise ValueError(f"there is no arm {arm!r} with a model; there are {', '.join(STYLES)}")
    agent = ModelAgent(_model(model), PURE if pure else STYLES[arm], timeout=timeout)
    steps = [_step(step, n) for n, step in enumerate(recent_window, start=1)]
    history = History()
    for step in steps:
        history.observe(step)
    moment = Moment(
        trigger=Trigger.INTERVAL if steps else Trigger.FIRST_STEP,
        task=task,
        window=steps,
        bank=memory_bank,
        history=history,
    )
    for op in agent.manage(moment):
        memory_bank.apply(op)
    decision = agent.decide(moment)
    for op in () if isinstance(decision, Reminder) else decision.ops:
        memory_bank.apply(op)
    if agent.failure is not None:
        raise agent.failure
    verdict = guard(decision, moment, Said()) if isinstance(decision, Reminder) else decision
    return verdict.text if isinstance(verdict, Reminder) else None


def apply_memory_tool_calls(
    calls: str | Iterable[Any] | Mapping[str, Any] | None,
    memory_bank: MemoryBank,
) -> list[str]:
    """Carry out the four tools on a bank; returns what each call led to, a line each.

    `calls` is a model's text (both text forms are read), or calls as an SDK has them: objects or
    mappings with `name` and `arguments` or `input`, or those of chat completions with `function`
    and its arguments as JSON; or pairs (name, arguments); None is no call. What cannot be done is
    told in its line and changes nothing.
    """
    if isinstance(calls, str):
        read = [(call.name, call.arguments) for call in parse_tool_calls(calls)]
    else:
        read = [_call(call) for call in ([calls] if isinstance(calls, Mapping) else calls or ())]
    return [outcome.told for outcome in carry_out(read, memory_bank)]


def _call(call: Any) -> tuple[str, Mapping[str, Any]]:
    if isinstance(call, tuple):
        name, arguments = call
    else:
        told = _of(call, "function") or call
        name, arguments = _of(told, "name"), _of(told, "arguments") or _of(told, "input")
    if isinstance(arguments, str):
        try:
            arguments = json_text.loads(arguments)
        except ValueError:
            arguments = {}
    return str(name), arguments if isinstance(arguments, Mapping) else {}


def _of(thing: Any, key: str) -> Any:
    return thing.get(key) if isinstance(thing, Mapping) else getattr(thing, key, None)


def _step(step: AnyStep, position: int) -> Step:
    if isinstance(step, Step):
        return step
    if isinstance(step, Mapping):
        return Step.from_json({"step": position, "kind": "command", "observation": "", **step})
    if isinstance(step, str) or len(step) != 2:
        raise ValueError(f"a step is a mapping or a pair (action, observation), not {step!r:.80}")
    action, observation = step
    return Step(position, "command", action, observation)


def _model(model: ChatModel | str | None) -> ChatModel:
    if model is None or isinstance(model, str):
        name = model or os.environ.get("PMEM_MODEL", "")
        if not name:
            raise ValueError('no model: pass model="anthropic:NAME", or set PMEM_MODEL')
        return _connected(name, os.environ.get("PMEM_BASE_URL", ""))
    return model


@lru_cache(maxsize=8)
def _connected(name: str, base_url: str) -> ChatModel:
    return model_named(name, dict(os.environ), base_url)
