"""Guests: agents that were started inside something under pmem, mostly typed in its shell.

A guest joins the session around it instead of opening one of its own. It is a lane beside the
shell's: its own window and its own task, the same bank, and the same history of commands, since
what failed at the prompt a minute ago fails for the agent as well. Its name travels with the
session's token (`TOKEN@NAME`), so that its hooks, of whatever kind, need to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pmem.core.event import Ended, Event, Observed
from pmem.core.step import Step
from pmem.core.trajectory import Trajectory
from pmem.session.lane import Lane

#: What stands for the output of the shell's command that started a guest.
ITS_OWN_SCREEN = "(the screen of an agent; its own steps are recorded beside)"

#: Names of guests remembered.
MAX_NAMES = 1000


class Guests:
    """The guests of one session."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._heard = 0.0

    def heard(self, name: str, now: float) -> None:
        """A guest tells that it is here, for the first time or again; `now` in Unix seconds."""
        if len(self._names) >= MAX_NAMES:  # each tells its name with every event
            self._names.clear()
        self._names.add(name)
        self._heard = now

    def lane(self, agent_id: str | None, task: str, of: Callable[[str | None], Lane]) -> Lane:
        """A new lane; that of a guest goes on with the history of the session's main one.

        `of` is the lane of an id. A guest's subagent has a history of its own, as any other has.
        """
        lane = Lane(agent_id, Trajectory(task=task))
        name, _, subagent = (agent_id or "").partition("/")
        if name not in self._names:
            return lane
        lane.guest = True
        if subagent:
            lane.trajectory.task = of(name).trajectory.task
        else:
            lane.history = of(None).history
        return lane

    def without_screen(self, step: Step) -> Step:
        """A step of the shell; where a guest was heard meanwhile, without what it painted.

        Such a step is no command that could be tried again in vain.
        """
        began = step.started or 0.0
        if not began <= self._heard <= began + (step.seconds or 0.0):
            return step
        return replace(step, kind="tool", observation=ITS_OWN_SCREEN)


def as_guest(event: Event, name: str) -> Event:
    """An event of a guest's adapter, with the guest's name as its trajectory."""
    if isinstance(event, Observed):
        step = event.step
        return Observed(replace(step, agent_id=_under(name, step.agent_id)))
    if isinstance(event, Ended):
        return event
    return replace(event, agent_id=_under(name, event.agent_id))


def _under(name: str, agent_id: str | None) -> str:
    return f"{name}/{agent_id}" if agent_id else name
