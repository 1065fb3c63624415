"""Memory of one trial of a benchmark: the session's ring over a bank that ends with the trial."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pmem.core.event import Event, Observed, Proposed, UserMessage
from pmem.core.step import Action, Step
from pmem.evaluation.mem0_arm import EMBEDDER, TEMPERATURE, Mem0
from pmem.evaluation.played import Played, Taken
from pmem.evaluation.results import Took
from pmem.memory.arms import WITH_MODEL, Together, memory_agent
from pmem.memory.protocol import MemoryAgent
from pmem.models.named import model_named
from pmem.models.prices import Prices
from pmem.models.protocol import ChatModel, ModelError, Reply, Request, Trouble
from pmem.session.in_memory import BankInMemory, LogInMemory
from pmem.session.ledger import Ledger
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session

#: The arms with a model that a trial can have.
MODEL_ARMS = (*WITH_MODEL, "mem0")
#: Characters of the task that a memory agent is shown: all of any domain's policy and of any task.
MAX_TASK = 100_000
#: Arms with a note for each call: the newest stands for those since the call before.
_EVERY_TIME = ("bank", "always", "mem0")


@dataclass(frozen=True)
class Remembering:
    """How memory runs in a trial. `temperature` is None where the arm's own counts.

    `embedder` (`openai:NAME`, "" for Mem0's own) and `embedder_url` are for the arm mem0, which
    looks after every step, whatever the interval.
    """

    arm: str
    model: str = ""
    pure: bool = False
    interval: int = 5
    window: int = 8
    temperature: float | None = None
    base_url: str = ""
    timeout: float = 120.0
    embedder: str = ""
    embedder_url: str = ""


class TrialMemory:
    """One trial's memory. Tell it what happens, and take the note before each call of the agent.

    `points` counts the calls before which it could have spoken, `spoke` those with a note,
    `seconds` is what it took in all; `calls` has for each call its note, and how many decisions
    there were by then. It raises CannotGoOn where its model cannot be asked. Close it
    when the trial is over: the arm mem0 has files.
    """

    def __init__(
        self, how: Remembering, task: str, env: Mapping[str, str], prices: Prices, channel: str
    ) -> None:
        """Raises ValueError with a sentence for an arm or a model that is not there."""
        self.how = how
        self.points = self.spoke = 0
        self.seconds = 0.0
        self.calls: list[tuple[str, int]] = []
        self._notes: dict[str | None, list[str]] = {}
        self._log = LogInMemory()
        self._channel = Channel(channel)
        self._prices = prices
        self._ledger = Ledger(how.model, prices)
        model = None
        if how.arm in MODEL_ARMS:
            own = TEMPERATURE if how.arm == "mem0" and how.temperature is None else how.temperature
            model = _At(model_named(how.model, env, how.base_url), own)
        self._memory = self._agent(model, env)
        self._session = None
        if self._memory is not None:
            interval = 1 if how.arm == "mem0" else how.interval
            outside = Outside(BankInMemory(), self._log, self._memory)
            self._session = Session(
                outside, id="trial", task=task, interval=interval, window=how.window
            )

    def user(self, text: str) -> None:
        """The user says something."""
        self.hear(UserMessage(text))

    def acted(
        self, action: Action, observation: str, *, is_error: bool | None = None, thought: str = ""
    ) -> None:
        """An action was taken, and this came of it; `thought` is what the agent said to it."""
        self.hear(Proposed(action))
        step = Step(
            0,
            action.kind,
            action.text,
            observation,
            tool=action.tool,
            call_id=action.call_id,
            is_error=is_error,
            thought=thought,
        )
        self.hear(Observed(step))

    def said(self, text: str) -> None:
        """The agent says something to the user."""
        self.hear(Observed(Step(0, "message", text, "")))

    def hear(self, event: Event, lane: str | None = None) -> None:
        """Anything that happens, as an adapter tells it; a subagent is a `lane` of its own."""
        if self._session is None:
            return
        began = time.monotonic()
        answer = self._session.handle(event, self._channel)
        self.seconds += time.monotonic() - began
        if answer.to_agent:
            self._notes.setdefault(lane, []).append(answer.to_agent)

    def note(self, lane: str | None = None) -> str:
        """What the agent is to read in the call that is made now, and in no later one."""
        notes = self._notes.pop(lane, [])
        note = "\n\n".join(notes[-1:] if self.how.arm in _EVERY_TIME else notes)
        self.calls.append((note, len(self.decisions)))
        if self._session is not None:
            self.points += 1
            self.spoke += bool(note)
        return note

    def close(self) -> None:
        """The trial is over: nothing of it stays behind."""
        if isinstance(self._memory, Mem0):
            self._memory.close()

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """All that was decided, silence included."""
        return self._log.decisions

    @property
    def took(self) -> Took:
        """What the memory agent's model took."""
        usage = self._ledger.usage
        known = not self._ledger.calls or self._prices.money(self.how.model, usage) is not None
        read = usage.input + usage.cache_read + usage.cache_write
        money = self._ledger.money if known else None
        return Took(self._ledger.calls, read, usage.output, usage.cache_read, money)

    def _agent(self, model: ChatModel | None, env: Mapping[str, str]) -> MemoryAgent | None:
        how = self.how
        if how.arm == "mem0" and model is not None:
            return Mem0(
                model,
                how.embedder or EMBEDDER,
                env,
                embedder_url=how.embedder_url,
                ledger=self._ledger,
                timeout=how.timeout,
            )
        memory = memory_agent(how.arm, model, pure=how.pure, timeout=how.timeout, max_task=MAX_TASK)
        return Played(memory, Taken(self._ledger)) if isinstance(memory, Together) else memory


class _At:
    """A model at a temperature, as long as it takes one."""

    def __init__(self, model: ChatModel, temperature: float | None) -> None:
        self.model, self.temperature = model, temperature
        self.name, self.native_tools = model.name, model.native_tools

    def ask(self, request: Request) -> Reply:
        """Answer as the model does."""
        if self.temperature is None:
            return self.model.ask(request)
        try:
            return self.model.ask(replace(request, temperature=self.temperature))
        except ModelError as error:
            if error.trouble is not Trouble.NO_TEMPERATURE:
                raise
            self.temperature = None
            return self.model.ask(replace(request, temperature=None))

    def close(self) -> None:
        """As the model does."""
        self.model.close()
