"""ModelAgent: a chat model plays the memory agent, in the paper's two phases.

It may take seconds: the session runs it beside the action agent. It never raises for what a
model answers or fails to answer; that is silence with a reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pmem.core.bank import BankOp, MemoryBank, SaveKnowledge, free_id, normal_id
from pmem.core.decision import Decision, Reminder, Silence, Trigger
from pmem.core.moment import Moment
from pmem.core.text import words
from pmem.core.when import parse_watch
from pmem.memory.model import grounding, shown
from pmem.memory.model.parse import (
    Intervention,
    find_intervention,
    parse_tool_calls,
    says_nothing,
    without_thoughts,
)
from pmem.memory.model.prompt import Prompts
from pmem.memory.model.style import STYLES, Style
from pmem.memory.model.tools import carry_out
from pmem.memory.prompts import load_prompts
from pmem.models.protocol import ChatModel, ModelError, Reply, Request, ToolResult, Usage

#: A reminder of more words is no reminder; up to this many the guard shortens it.
MAX_WORDS = 180


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call of the model, as it went: for the decision log, the budget, and who looks later."""

    request: Request
    reply: Reply | None
    seconds: float
    error: str = ""

    @property
    def usage(self) -> Usage:
        """What it took; nothing is known of a failed call."""
        return self.reply.usage if self.reply is not None else Usage()


@dataclass(frozen=True, slots=True)
class _Managed:
    """Phase 1 of a moment, which phase 2 goes on from."""

    moment: tuple[Trigger, int]
    request: Request
    reply: Reply
    results: tuple[ToolResult, ...]


class ModelAgent:
    """The memory agent of one session, played by a model.

    `exchanges` grows with each call; who reads them empties it. `failure` is the error of the
    latest call, None if it went well. `stopped` is the reason why the model is not asked any
    more (no key, no such model), "" while it is.
    """

    def __init__(
        self,
        model: ChatModel,
        style: Style = STYLES["selective"],
        *,
        prompts: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        redact: Callable[[str], str] = str,
        max_task: int = shown.MAX_TASK,
    ) -> None:
        self.model = model
        self.style = style
        self.name = "pure" if style.pure else style.name
        self.exchanges: list[Exchange] = []
        self.stopped = ""
        self.failure: ModelError | None = None
        self._prompts = Prompts(
            prompts or load_prompts(),
            style,
            native_tools=model.native_tools,
            timeout=timeout,
            redact=redact,
            max_task=max_task,
        )
        self._managed: _Managed | None = None
        self._trouble = ""

    # -- the two phases -----------------------------------------------------------------------

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        """Phase 1: what the model keeps of this moment."""
        self._managed, self._trouble, self.failure = None, "", None
        if not self.style.manages or moment.trigger is Trigger.PROPOSED:
            return ()
        request, reply = self._ask(lambda: self._prompts.manage(moment))
        if reply is None:
            return ()
        native = bool(reply.calls)
        calls = [(c.name, c.arguments) for c in reply.calls] or [
            (c.name, c.arguments) for c in parse_tool_calls(reply.text)
        ]
        bank = MemoryBank(moment.bank.status, moment.bank.entries.values())
        outcomes = carry_out(calls, bank, watches=not self.style.pure)
        ids = [c.id for c in reply.calls] if native else ["" for _ in calls]
        results = tuple(
            ToolResult(id, name, outcome.told)
            for id, (name, _), outcome in zip(ids, calls, outcomes, strict=True)
        )
        said = replace(reply, text=without_thoughts(reply.text).strip())
        self._managed = _Managed(_key(moment), request, said, results)
        return [outcome.op for outcome in outcomes if outcome.op is not None]

    def decide(self, moment: Moment) -> Decision:
        """Phase 2: one reminder or silence; what cannot be read is silence."""
        managed, self._managed = self._managed, None
        if moment.trigger is Trigger.PROPOSED:
            return Silence("a model is not asked about a proposed action")
        if self._trouble:
            return Silence(self._trouble)
        if moment.trigger is Trigger.COMPACTION:
            return Silence("before a compaction the bank is kept, nothing is said")
        if not self.style.decides:
            return self._note(shown.whole_bank(moment), moment)
        if managed is not None and managed.moment != _key(moment):
            managed = None
        if managed is not None and self._is_full_answer(managed):
            return Silence("the model has nothing to keep and nothing to say")
        before = managed.request if managed is not None else None
        reply = managed.reply if managed is not None else Reply()
        results = managed.results if managed is not None else ()
        _, answer = self._ask(lambda: self._prompts.decide(moment, before, reply, results))
        if answer is None:
            return Silence(self._trouble)
        found = find_intervention(answer.text)
        if found is None:
            return Silence(
                "the model is silent" if says_nothing(answer.text) else "the answer cannot be read"
            )
        return self._decision(found, moment)

    def drain(self) -> list[Exchange]:
        """The exchanges since the last call of this."""
        taken, self.exchanges = self.exchanges, []
        return taken

    def close(self) -> None:
        """End a call that is in flight; may be called from another thread."""
        self.model.close()

    # -- what an answer means -----------------------------------------------------------------

    def _is_full_answer(self, managed: _Managed) -> bool:
        return (
            self.style.may_be_silent
            and not self.style.pure
            and not managed.results
            and says_nothing(managed.reply.text)
        )

    def _decision(self, found: Intervention, moment: Moment) -> Decision:
        if not self.style.guarded:
            return self._note(found.text, moment, found.entries)
        if found.when is not None:
            return _watch(found, moment.bank)
        if words(found.text) > MAX_WORDS:
            return Silence(f"the reminder has {words(found.text)} words")
        ids = grounding.cited(found.text, found.entries, moment.bank)
        entries = [e for e in map(moment.bank.get, ids) if e is not None]
        if not entries:
            return Silence("it stands on no entry of the bank")
        return Reminder(
            found.text,
            ids,
            reason="model",
            cause=grounding.cause(entries),
            form=grounding.form(found.text, entries),
        )

    def _note(self, text: str, moment: Moment, named: Sequence[str] = ()) -> Decision:
        """An ablation's note, whole."""
        if not text:
            return Silence("there is nothing to show")
        ids = () if not self.style.manages else grounding.cited(text, named, moment.bank)
        if not self.style.decides:
            ids = tuple(id for id, entry in moment.bank.entries.items() if not entry.stale)
        entries = [e for e in map(moment.bank.get, ids) if e is not None]
        number = moment.last_step.number if moment.last_step else 0
        return Reminder(
            text,
            ids,
            reason="model",
            cause=f"{self.name}:{number}",
            whole=True,
            form=grounding.form(text, entries) if entries else "abstract",
        )

    # -- the model ----------------------------------------------------------------------------

    def _ask(self, make: Callable[[], Request]) -> tuple[Request, Reply | None]:
        """One call; without tools or temperature where the endpoint turns out to take none."""
        request = make()
        if self.stopped:
            self._trouble = self.stopped
            return request, None
        began = time.monotonic()
        try:
            reply = self.model.ask(request)
        except ModelError as error:
            self._keep(request, None, began, str(error))
            if self._prompts.without(error.trouble):
                return self._ask(make)
            if error.lasting:
                self.stopped = str(error)
            self._trouble, self.failure = str(error), error
            return request, None
        self._keep(request, reply, began)
        return request, reply

    def _keep(self, request: Request, reply: Reply | None, began: float, error: str = "") -> None:
        self.exchanges.append(Exchange(request, reply, time.monotonic() - began, error))


def _watch(found: Intervention, bank: MemoryBank) -> Silence:
    """ "Not now, but when …": an entry with a watch instead of a reminder."""
    try:
        parse_watch(found.when or {})
        id = free_id(normal_id(" ".join(found.text.split()[:5])), bank.entries)
    except ValueError as error:
        return Silence(f"not now, and its watch cannot be used: {error}")
    op = SaveKnowledge(id, found.text, ("watch",), when=dict(found.when or {}))
    return Silence(f"not now; watch {id} is armed", (op,))


def _key(moment: Moment) -> tuple[Trigger, int]:
    return moment.trigger, moment.last_step.number if moment.last_step else 0
