"""Memory of one trial of a benchmark: the session's ring over a bank that ends with the trial."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pmem.core.event import Event, Observed, Proposed, UserMessage
from pmem.core.step import Action, Step
from pmem.evaluation.played import Played, Taken
from pmem.evaluation.results import Took
from pmem.memory.arms import WITH_MODEL, Together, memory_agent
from pmem.models.named import model_named
from pmem.models.prices import Prices
from pmem.models.protocol import ChatModel, ModelError, Reply, Request, Trouble
from pmem.session.in_memory import BankInMemory, LogInMemory
from pmem.session.ledger import Ledger
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session

#: A memory agent's prompt shows so many characters of a task, and more of a rule file.
_TASK = 5900


@dataclass(frozen=True)
class Remembering:
    """How memory runs in a trial. `temperature` is None where the arm's own counts."""

    arm: str
    model: str = ""
    pure: bool = False
    interval: int = 5
    window: int = 8
    temperature: float | None = None
    base_url: str = ""
    timeout: float = 120.0


class TrialMemory:
    """One trial's memory. Tell it what happens, and take the note before each call of the agent.

    `points` counts the calls before which it could have spoken, `spoke` those with a note,
    `seconds` is what it took in all. It raises CannotGoOn where its model cannot be asked.
    """

    def __init__(
        self, how: Remembering, task: str, env: Mapping[str, str], prices: Prices, channel: str
    ) -> None:
        """Raises ValueError with a sentence for an arm or a model that is not there."""
        self.how = how
        self.points = self.spoke = 0
        self.seconds = 0.0
        self._notes: list[str] = []
        self._log = LogInMemory()
        self._channel = Channel(channel)
        self._prices = prices
        self._ledger = Ledger(how.model, prices)
        model = None
        if how.arm in WITH_MODEL:
            model = _At(model_named(how.model, env, how.base_url), how.temperature)
        memory = memory_agent(how.arm, model, pure=how.pure, timeout=how.timeout)
        if isinstance(memory, Together):
            memory = Played(memory, Taken(self._ledger))
        cut = len(task) if len(task) <= _TASK else task.rfind("\n", 1, _TASK) + 1 or _TASK
        rest = [("the task, continued", task[cut:])] if task[cut:].strip() else []
        self._session = None
        if memory is not None:
            outside = Outside(BankInMemory(), self._log, memory, rule_files=lambda: rest)
            self._session = Session(
                outside, id="trial", task=task[:cut], interval=how.interval, window=how.window
            )

    def user(self, text: str) -> None:
        """The user says something."""
        self._tell(UserMessage(text))

    def acted(self, action: Action, observation: str, *, is_error: bool | None = None) -> None:
        """An action was taken, and this came of it."""
        self._tell(Proposed(action))
        step = Step(
            0,
            action.kind,
            action.text,
            observation,
            tool=action.tool,
            call_id=action.call_id,
            is_error=is_error,
        )
        self._tell(Observed(step))

    def said(self, text: str) -> None:
        """The agent says something to the user."""
        self._tell(Observed(Step(0, "message", text, "")))

    def note(self) -> str:
        """What the agent is to read in the call that is made now, and in no later one."""
        notes, self._notes = self._notes, []
        if self._session is not None:
            self.points += 1
            self.spoke += bool(notes)
        return "\n\n".join(notes)

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

    def _tell(self, event: Event) -> None:
        if self._session is None:
            return
        began = time.monotonic()
        answer = self._session.handle(event, self._channel)
        self.seconds += time.monotonic() - began
        if answer.to_agent:
            self._notes.append(answer.to_agent)


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
