"""Lane: one action agent's own trajectory. A subagent has a lane of its own on the shared bank."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pmem.core.guard import Said
from pmem.core.history import History
from pmem.core.moment import Given
from pmem.core.trajectory import Trajectory
from pmem.core.watch import Watches

if TYPE_CHECKING:
    from pmem.session.thinking import Pending

#: Reminders that a model is told of again.
MAX_GIVEN = 8


@dataclass
class Lane:
    """What the session keeps per action agent."""

    agent_id: str | None
    trajectory: Trajectory
    history: History = field(default_factory=History)
    watches: Watches = field(default_factory=Watches)
    said: Said = field(default_factory=Said)
    #: Causes for which an action was put back: the same action proposed again goes through.
    held: set[str] = field(default_factory=set)
    opened: bool = False
    #: An agent that was started inside the session: its task is its own.
    guest: bool = False
    #: The digest after a compaction: "due" until the agent can be told, "told" until the summary.
    compaction: str = ""
    #: Whether phase 1 has run over what the compaction to come will drop.
    kept: bool = False
    #: What the agent was reminded of last.
    given: deque[Given] = field(default_factory=lambda: deque(maxlen=MAX_GIVEN))
    #: What a model came to and has not been said yet.
    pending: Pending | None = None
