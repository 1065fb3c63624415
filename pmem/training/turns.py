"""Turns: the memory steps of recorded runs, each as it was before anything was decided there.

A run is replayed with the rules and, where a dataset has them, the recorded answers of another
model; wherever a model would be asked and could speak, the moment is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pmem.core.bank import BankOp, MemoryBank
from pmem.core.decision import Decision, Reminder, Trigger
from pmem.core.history import History
from pmem.core.moment import Moment
from pmem.core.redact import redact as plain_redact
from pmem.core.said import Said
from pmem.core.step import Step
from pmem.evaluation.dataset import Label, Run
from pmem.evaluation.replay import replay
from pmem.memory.arms import Together
from pmem.memory.model.prompt import Prompts
from pmem.memory.model.style import STYLES
from pmem.memory.prompts import load_prompts
from pmem.memory.rules import Rules
from pmem.models.protocol import ChatModel
from pmem.training.ahead import LOOKED_AHEAD, Following
from pmem.training.episode import PlayedBack
from pmem.training.outcome import labelled
from pmem.training.played import PlayedAnswers, recorded_answers
from pmem.training.wording import known_at, places, runs_of

#: Asked at every step, as in the paper: any step can be a pivot.
INTERVAL = 1
#: Nobody is asked to speak at these.
_SILENT = (Trigger.PROPOSED, Trigger.COMPACTION)


@dataclass(frozen=True)
class Turn:
    """One memory step of a run.

    `moment` is what the memory agent may look at, with the bank as it was; `wanted` says whether a
    reminder was wanted here, None where nothing tells; `about` what it should tell, "" where
    nothing says; `outcome` what came of runs in which memory spoke here and of those in which it
    was silent (`spoke`, `silent`: mean reward in [0, 1]); `ahead` is what followed in the run;
    `why` is why it is a pivot.
    """

    run: str
    before_step: int
    moment: Moment
    wanted: bool | None = None
    about: str = ""
    outcome: Mapping[str, float] = field(default_factory=dict)
    ahead: Sequence[Following] = ()
    why: str = ""

    @property
    def id(self) -> str:
        """What names it among the turns of all runs."""
        return f"{self.run}:{self.before_step}"

    @cached_property
    def known(self) -> str:
        """All that a memory agent can know here, in lower case."""
        return known_at(self.moment).casefold()

    @cached_property
    def shown(self) -> frozenset[tuple[str, ...]]:
        """The runs of words that stand in the task, the rule files and the window."""
        return runs_of(places(self.moment))

    def bank(self) -> MemoryBank:
        """A bank of its own, as it was."""
        return MemoryBank(self.moment.bank.status, self.moment.bank.entries.values())

    def said(self) -> Said:
        """What was told before, by its words."""
        said = Said()
        for n, given in enumerate(self.moment.given):
            seen = [step for step in self.moment.window if step.number <= given.step]
            said.add(
                Reminder(given.text, (), "model", f"given:{n}"), replace(self.moment, window=seen)
            )
        return said

    def opening(
        self,
        redact: Callable[[str], str] = plain_redact,
        texts: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """The first messages of its conversation as a model is sent them, in the form of chat
        completions; `texts` are prompts by name where they are not pmem's own."""
        prompts = Prompts(
            texts or load_prompts(),
            STYLES["selective"],
            native_tools=True,
            timeout=0,
            redact=redact,
        )
        request = prompts.manage(self.moment)
        asked = "\n\n".join(message.text for message in request.messages)
        return [
            {"role": "system", "content": request.system},
            {"role": "user", "content": asked},
        ]


def turns_of(
    run: Run, folder: Path | None = None, *, redact: Callable[[str], str] = plain_redact
) -> list[Turn]:
    """The turns of a labelled run, in order; `folder` is its dataset's, for recorded answers.

    In a window in which the rules have reminded the agent already no reminder is wanted any more.
    Raises ValueError with a sentence if a file of the dataset cannot be read.
    """
    answers = recorded_answers(folder, run) if folder is not None else {}
    found, reminded = look(run.header, run.lines, PlayedAnswers(answers), redact=redact)
    following = [_following(run, line, reminded) for line in run.lines]
    turns = []
    for turn in found:
        here = _wanted(run, turn.before_step, reminded)
        ahead = [f for f in following if turn.before_step <= f.step.number][:LOOKED_AHEAD]
        turns.append(replace(turn, run=run.id, wanted=here[0], about=here[1], ahead=ahead))
    return turns


def _following(run: Run, line: Mapping[str, Any], reminded: Collection[int]) -> Following:
    step = Step.from_json(line)
    return Following(step, *_wanted(run, step.number, reminded))


def _wanted(run: Run, before: int, reminded: Collection[int]) -> tuple[bool | None, str]:
    """Whether a reminder is wanted before a step, and what it should tell."""
    wanted = labelled(run, before)
    label = label_at(run, before) if wanted else None
    if label is None:
        return wanted, ""
    if any(label.earliest <= n < before for n in reminded):
        return False, ""
    return wanted, label.reminder


def look(
    header: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    model: ChatModel,
    *,
    redact: Callable[[str], str] = plain_redact,
    interval: int = INTERVAL,
) -> tuple[list[Turn], list[int]]:
    """Replay neutral lines with a model that needs no prompt: the turns at which it is asked, each
    step once, and the steps before which the agent was reminded."""
    looking = _Looking(Together(PlayedBack(model), Rules()))
    result = replay(header, lines, looking, interval=interval, redact=redact)
    return list(looking.turns.values()), result.before_steps


def label_at(run: Run, before_step: int) -> Label | None:
    """The label in whose window a step lies; a step that is not the agent's counts as the agent's
    next one."""
    at = next((p for p in run.decision_points if p >= before_step), None)
    return next(
        (one for one in run.labels if at is not None and one.earliest <= at <= one.latest), None
    )


class _Looking:
    """A memory agent that does as another one, and keeps each moment its model is asked at."""

    def __init__(self, agent: Together) -> None:
        self.agent = agent
        self.mind = agent.mind
        self.name = agent.name
        self.turns: dict[int, Turn] = {}
        self._asked: Moment | None = None

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        """What the agent keeps."""
        bank = MemoryBank(moment.bank.status, moment.bank.entries.values())
        ops = self.agent.manage(moment)
        asked = bool(self.mind.drain()) and moment.trigger not in _SILENT
        self._asked = replace(moment, bank=bank, history=History()) if asked else None
        return ops

    def decide(self, moment: Moment) -> Decision:
        """What the agent says."""
        asked, self._asked = self._asked, None
        if asked is not None and moment.trigger is asked.trigger:
            last = moment.last_step
            number = (last.number if last is not None else 0) + 1
            self.turns.setdefault(number, Turn("", number, asked))
        decision = self.agent.decide(moment)
        self.mind.drain()
        return decision
