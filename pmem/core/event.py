"""Events: what an adapter tells the session, in the order in which it happened.

Adapters translate an agent's native events into these and the session's Answer back.
`agent_id` is set for a subagent, which is a trajectory of its own on the shared bank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pmem.core.decision import Delivery, Reminder, to_agent
from pmem.core.step import Action, Step


@dataclass(frozen=True, slots=True)
class Started:
    """The agent opened, resumed or cleared its conversation, or goes on after a compaction.

    `past` are the steps of a conversation that is resumed, as far as they are not known yet:
    unnumbered, oldest first, the user's words among them.
    """

    how: Literal["startup", "resume", "clear", "compact"] = "startup"
    agent_id: str | None = None
    past: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The user's words to the agent. The first one is the task, unless one was given."""

    text: str
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Proposed:
    """An action is about to run."""

    action: Action
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """A step is complete. Its `number` is 0: the session numbers steps."""

    step: Step


@dataclass(frozen=True, slots=True)
class Compacting:
    """The agent's context is about to be replaced by a summary. Nothing is answered to it."""

    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The agent ends its turn; `message` is its closing text where the agent tells it."""

    message: str = ""
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The agent's session is over."""


Event = Started | UserMessage | Proposed | Observed | Compacting | Finished | Ended


@dataclass(frozen=True, slots=True)
class Citation:
    """An entry a reminder cites, as it was at that moment."""

    id: str
    content: str
    steps: tuple[int, ...] = ()


#: Who a reminder is for: the action agent, the person who looks at it, or both.
Audience = Literal["both", "agent", "human"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the session answers to an event. Without a reminder: nothing at all.

    `hold` means: put the proposed action back, with the reminder as the reason. `delivery` is
    None where the action agent is not to read it.
    """

    reminder: Reminder | None = None
    hold: bool = False
    delivery: Delivery | None = None
    citations: tuple[Citation, ...] = ()
    audience: Audience = "both"

    @property
    def to_agent(self) -> str:
        """What the action agent reads, "" for nothing."""
        if self.reminder is None or self.audience == "human":
            return ""
        return to_agent(self.reminder)

    @property
    def to_human(self) -> bool:
        """Whether the person at the agent is shown the reminder."""
        return self.reminder is not None and self.audience != "agent"


SILENT = Answer()
