"""Hands: whether an agent is at work, so that what changes in bank.toml may be its doing."""

from __future__ import annotations

import re

from pmem.core.event import Ended, Event, Finished, Observed, Proposed, Started, UserMessage
from pmem.core.step import ACTING_KINDS, Action
from pmem.session.choice import READ_BY_PEOPLE
from pmem.session.outside import Channel

#: An action that names what belongs to pmem may be about the bank itself.
_NAMES_US = re.compile(r"\bpmem\b|\bbank\.toml\b", re.IGNORECASE)
#: Steps under way that are remembered; of more the oldest are merged into the newest.
MAX_UNDER_WAY = 256


class Hands:
    """The acting steps of agents that were proposed and are not observed yet.

    At a prompt it is the person who acts: the channel of a shell does not count.
    """

    def __init__(self) -> None:
        self._under_way: dict[tuple[str | None, str], bool] = {}

    def at_work(self) -> str:
        """`bank` if a step is under way that names pmem or its bank, `agent` if another is; else
        nothing."""
        if not self._under_way:
            return ""
        return "bank" if any(self._under_way.values()) else "agent"

    def before(self, event: Event, channel: Channel) -> None:
        """Take an event into account for what changed until now."""
        if isinstance(event, Observed) and channel.name not in READ_BY_PEOPLE:
            step = event.step
            if step.kind in ACTING_KINDS:  # where no proposal is told, its end tells of it
                self._begin(step.agent_id, step.proposed)

    def after(self, event: Event, channel: Channel, *, held: bool) -> None:
        """Take it into account for what changes from now on."""
        match event:
            case Proposed(action, agent_id):
                acts = action.kind in ACTING_KINDS and channel.name not in READ_BY_PEOPLE
                if acts and not held:
                    self._begin(agent_id, action)
            case Observed(step):
                self._under_way.pop(_key(step.agent_id, step.proposed), None)
            case Finished(_, agent_id) | UserMessage(_, agent_id) | Started(_, agent_id):
                for key in [k for k in self._under_way if k[0] == agent_id]:
                    del self._under_way[key]
            case Ended():
                self._under_way.clear()

    def _begin(self, agent_id: str | None, action: Action) -> None:
        key = _key(agent_id, action)
        names_us = _NAMES_US.search(action.text) is not None
        if len(self._under_way) >= MAX_UNDER_WAY and key not in self._under_way:
            # The oldest end unseen; what is said of one that named us stays said.
            oldest = next(iter(self._under_way))
            names_us |= self._under_way.pop(oldest)
        self._under_way[key] = names_us


def _key(agent_id: str | None, action: Action) -> tuple[str | None, str]:
    return agent_id, action.call_id or f"{action.kind} {action.text}"
