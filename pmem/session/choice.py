"""Choice: of what was proposed to be said, the one reminder that passes, and whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmem.core.decision import Decision, Reminder, Silence
from pmem.core.event import Audience
from pmem.core.guard import guard
from pmem.core.moment import Moment
from pmem.session.lane import Lane
from pmem.session.outside import Channel

#: Channels that end in a banner, and no agent.
READ_BY_PEOPLE = frozenset({"shell", "follow"})


@dataclass(frozen=True, slots=True)
class Choice:
    """The verdict, the candidate it was about (None: there was none), and what a model took."""

    verdict: Decision
    candidate: Reminder | None = None
    cost: Mapping[str, Any] | None = None


def choose(
    candidates: Sequence[Decision], moment: Moment, lane: Lane, unwanted: Callable[[Reminder], str]
) -> Choice:
    """Let the best candidate through the guard; one step gets at most one reminder.

    `unwanted` is why the user does not want to hear a reminder, "" if there is no reason.
    """
    verdict: Decision = next(
        (c for c in candidates if isinstance(c, Silence)), Silence("nothing to say")
    )
    candidate, cost = None, None
    for candidate in sorted((c for c in candidates if isinstance(c, Reminder)), key=_worth):
        why = unwanted(candidate)
        verdict = Silence(why) if why else guard(candidate, moment, lane.said)
        if lane.pending is not None and candidate is lane.pending.thought.decision:
            cost, lane.pending = lane.pending.cost, None
        if isinstance(verdict, Reminder):
            break
    return Choice(verdict, candidate, cost)


def may_hold(lane: Lane, reminder: Reminder, moment: Moment, channel: Channel, hold: str) -> bool:
    """Whether the proposed action is put back, by the setting `hold`: once per cause."""
    if moment.proposed is None or not channel.can_hold or hold == "never":
        return False
    if reminder.cause in lane.held:
        return False
    if channel.held_for is not None and reminder.reason not in channel.held_for:
        return False
    return reminder.sure or (hold == "watch" and lane.watches.may_hold(reminder, moment.proposed))


def audience(deliver: str, channel: Channel) -> Audience | None:
    """Who hears a reminder, by the setting `deliver`; None: nobody, it is only logged."""
    if deliver == "both":
        return "both"
    if channel.name in READ_BY_PEOPLE:
        return "human" if deliver == "human" else None
    return "agent" if deliver == "agent" else "human" if deliver == "human" else None


def _worth(reminder: Reminder) -> tuple[bool, bool]:
    """Sort key: what is sure first, then what a person or a model watched for."""
    return (not reminder.sure, not reminder.reason.startswith("watch:"))
