"""Arms: the memory agents by the name a setting gives them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pmem.core.bank import BankOp, UpdateStatus
from pmem.core.decision import Decision, Reminder, Silence, Trigger
from pmem.core.gate import Gate
from pmem.core.moment import Moment
from pmem.memory.protocol import MemoryAgent

if TYPE_CHECKING:
    from pmem.memory.model.agent import ModelAgent
    from pmem.models.protocol import ChatModel

#: Arms that need no model.
EMBEDDED = ("off", "rules")
#: Arms that need one.
WITH_MODEL = ("selective", "bank", "always", "advisor")


@dataclass(frozen=True, slots=True)
class Arm:
    """What plays memory: `reflexes` answer at once, `mind` is a model that takes its time."""

    reflexes: MemoryAgent | None = None
    mind: ModelAgent | None = None


def arm_named(
    name: str,
    model: ChatModel | None = None,
    *,
    pure: bool = False,
    prompts: Path | None = None,
    timeout: float = 60.0,
    redact: Callable[[str], str] = str,
    without: Collection[str] = (),
    max_task: int | None = None,
) -> Arm:
    """The parts of an arm: `off`, `rules`, `scripted:FILE`, and with a model `selective`, `bank`,
    `always`, `advisor`.

    `pure` is the paper's own form of `selective`; `prompts` a directory whose texts replace
    ours; `timeout` in seconds for one call of the model; `redact` takes secrets out of what it is
    sent; `without` names rules that are switched off; `max_task` is how many characters of the task
    a model is shown, None for those of a live session. Raises ValueError with a sentence.
    """
    if name == "off":
        return Arm()
    if name == "rules":
        from pmem.memory.rules import Rules

        return Arm(Rules(without=without))
    if name.startswith("scripted:"):
        from pmem.memory.scripted import load_script

        return Arm(load_script(Path(name.removeprefix("scripted:")).expanduser()))
    if name not in WITH_MODEL:
        known = ", ".join((*EMBEDDED, *WITH_MODEL, "scripted:FILE"))
        raise ValueError(f"there is no memory agent {name!r}; there are {known}")
    if model is None:
        raise ValueError(f"the arm {name} needs a model; name one with --model, or use --arm rules")
    from pmem.memory.model.agent import ModelAgent
    from pmem.memory.model.shown import MAX_TASK
    from pmem.memory.model.style import PURE, STYLES
    from pmem.memory.prompts import load_prompts
    from pmem.memory.rules import Rules

    if pure and name != "selective":
        raise ValueError(f"pure is a form of the arm selective, not of {name}")
    style = PURE if pure else STYLES[name]
    mind = ModelAgent(
        model,
        style,
        prompts=load_prompts(prompts),
        timeout=timeout,
        redact=redact,
        max_task=max_task or MAX_TASK,
    )
    return Arm(Rules(without=without) if name == "selective" and not pure else None, mind)


def memory_agent(
    name: str,
    model: ChatModel | None = None,
    *,
    pure: bool = False,
    prompts: Path | None = None,
    timeout: float = 60.0,
    redact: Callable[[str], str] = str,
    max_task: int | None = None,
) -> MemoryAgent | None:
    """The memory agent of an arm in one piece, as a replay runs it; None for `off`.

    Takes and raises what `arm_named` does.
    """
    arm = arm_named(
        name,
        model,
        pure=pure,
        prompts=prompts,
        timeout=timeout,
        redact=redact,
        max_task=max_task,
    )
    if arm.mind is None:
        return arm.reflexes
    return Together(arm.mind, arm.reflexes)


@dataclass
class Together:
    """Reflexes and a model as one memory agent: the reflexes speak first."""

    mind: ModelAgent
    reflexes: MemoryAgent | None = None
    gate: Gate = field(default_factory=Gate)
    _asked: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        from pmem.memory.model.wants import Wants

        self.name = self.mind.name
        self._wants = Wants()

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        """What both keep."""
        ops = list(self.reflexes.manage(moment)) if self.reflexes is not None else []
        # The status is the model's where there is one.
        ops = [op for op in ops if not isinstance(op, UpdateStatus)]
        worth = self.gate.asks(moment) and self._wants.asks(moment)
        self._asked = self.mind.style.pure or worth
        return [*ops, *self.mind.manage(moment)] if self._asked else ops

    def decide(self, moment: Moment) -> Decision:
        """What the reflexes say, else what the model says."""
        quick = (
            self.reflexes.decide(moment) if self.reflexes is not None else Silence("no reflexes")
        )
        if moment.trigger is Trigger.PROPOSED:
            return quick
        if not self._asked:
            return (
                quick if isinstance(quick, Reminder) else Silence("not worth a call of the model")
            )
        self._asked = False
        slow = self.mind.decide(moment)
        return quick if isinstance(quick, Reminder) else slow
