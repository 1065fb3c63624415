"""Lane: one action agent's own trajectory. A subagent has a lane of its own on the shared bank."""

from __future__ import annotations

from dataclasses import dataclass, field

from pmem.core.guard import Said
from pmem.core.history import History
from pmem.core.trajectory import Trajectory
from pmem.core.watch import Watches


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
