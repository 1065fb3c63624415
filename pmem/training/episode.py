"""Episode: one memory step as a policy played it, carried out for real.

The tools, the reading of the answers, the citing of entries and the guard are those of a session:
`ModelAgent` plays back what the policy answered, over the moment as it was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pmem.core.bank import BankOp, MemoryBank
from pmem.core.decision import Decision, Reminder
from pmem.core.guard import guard
from pmem.core.moment import Moment
from pmem.memory.model.agent import ModelAgent
from pmem.memory.model.parse import find_intervention, says_nothing
from pmem.memory.model.prompt import Prompts
from pmem.memory.model.style import STYLES
from pmem.memory.prompts import load_prompts
from pmem.models.protocol import ChatModel, Message, Reply, Request, ToolCall, ToolResult
from pmem.session.in_memory import BankInMemory
from pmem.training.calls import Call

if TYPE_CHECKING:
    from pmem.training.turns import Turn


@dataclass(frozen=True, slots=True)
class Played:
    """What a policy answered: in phase 1 calls or a text, in phase 2 a text. `answer` is None where
    phase 2 was never reached."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    answer: str | None = None


@dataclass(frozen=True)
class Episode:
    """What came of it: the bank afterwards, what the tools did, what was to be said (`decision`)
    and what of that passes the guard (`verdict`)."""

    turn: Turn
    played: Played
    bank: MemoryBank
    ops: Sequence[BankOp]
    told: Sequence[str]
    decision: Decision
    verdict: Decision

    @property
    def said(self) -> str:
        """The words of the reminder as the policy wrote them, "" if it wrote none."""
        found = find_intervention(self.played.answer or "")
        return found.text if found is not None and found.when is None else ""

    @property
    def delivered(self) -> str:
        """The reminder as the agent reads it, "" where it reads none."""
        return self.verdict.text if isinstance(self.verdict, Reminder) else ""

    @property
    def readable(self) -> bool:
        """Whether both phases have the forms that are read: tools or silence, then one answer."""
        if not self.played.calls:
            return self.played.answer is None and says_nothing(self.played.text)
        answer = self.played.answer or ""
        return says_nothing(answer) or find_intervention(answer) is not None


def play(turn: Turn, played: Played) -> Episode:
    """Carry out what a policy answered at a turn; nothing outside is touched."""
    model = _Answers(played)
    agent = PlayedBack(model)
    holder = BankInMemory(turn.bank())
    moment = replace(turn.moment, bank=holder.bank)
    ops = agent.manage(moment)
    told = [result.text for result in agent.results]
    holder.apply(ops)
    decision = agent.decide(moment)
    verdict = decision
    if isinstance(decision, Reminder):
        verdict = guard(decision, moment, turn.said())
    else:
        holder.apply(decision.ops)
    return Episode(turn, played, holder.bank, ops, told, decision, verdict)


class PlayedBack(ModelAgent):
    """A model agent whose model needs no prompt: the requests tell the step and nothing else."""

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self._prompts = _Unwritten()

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """What the tools of phase 1 told."""
        return self._managed.results if self._managed is not None else ()


class _Unwritten(Prompts):
    """Requests without what a model would read."""

    def __init__(self) -> None:
        super().__init__(load_prompts(), STYLES["selective"], native_tools=True, timeout=0)

    def manage(self, moment: Moment) -> Request:
        """Phase 1: which step is at hand."""
        last = moment.last_step
        told = f"step {last.number}: " if last is not None else ""
        return Request("", (Message("user"), Message("user", told)), phase="manage")

    def decide(
        self, moment: Moment, before: Request | None, reply: Reply, results: Sequence[ToolResult]
    ) -> Request:
        """Phase 2."""
        return Request("", (), phase="decide")


@dataclass
class _Answers:
    """A chat model that answers what a policy answered."""

    played: Played
    name: str = "policy"
    native_tools: bool = field(default=True, init=False)

    def ask(self, request: Request) -> Reply:
        """Phase 1, then phase 2."""
        if request.phase != "manage":
            return Reply(self.played.answer or "")
        calls = (
            ToolCall(f"call_{n}", name, arguments)
            for n, (name, arguments) in enumerate(self.played.calls)
        )
        return Reply(self.played.text, tuple(calls))

    def close(self) -> None:
        """There is nothing to end."""
