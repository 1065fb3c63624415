"""Conversations: what is new in a request, whose it is, and where words once stood.

A request holds its whole conversation again. What was seen is known by prints of beginnings, so
that a retry tells nothing twice, a subagent is a trajectory of its own, and words that were put
behind an item stand there again in every later request, byte for byte.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pmem.proxy import talk
from pmem.proxy.body import Body
from pmem.proxy.typed import asks_for_summary, asks_for_title, goes_on, typed
from pmem.proxy.wire import Called, Entry, Returned, Said, Words

#: aider begins with conversations that are examples; its own follows these words.
_EXAMPLES_END = "I switched to a new code base."

News = Mapping[str, Any]


@dataclass
class Lane:
    """One trajectory: the agent's own (`id` is None), or a subagent's."""

    id: str | None
    told: set[str] = field(default_factory=set)
    said: Counter[str] = field(default_factory=Counter)
    proposed: set[str] = field(default_factory=set)
    #: Words that wait for the lane's next request.
    waiting: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of an agent that may act: its lane, and what is new in it.

    `ours` is False for a request in which nothing new may be said, as for a summary.
    """

    lane: Lane
    news: Sequence[News] = ()
    ours: bool = True


class Conversations:
    """All conversations that went through one proxy. With `transient` words stand in one request
    and its retries only. With `after_another` a conversation that is under way was told by another
    process, which was killed: rather a step is missing than told twice."""

    def __init__(self, *, transient: bool = False, after_another: bool = False) -> None:
        self._transient, self._after_another = transient, after_another
        self._lanes: dict[bytes, Lane] = {}
        self._calls: dict[str, Lane] = {}
        self._latest: Lane | None = None
        self._placed: dict[bytes, str] = {}
        self._tools_seen = False

    def turn(self, body: Body) -> Turn | None:
        """What the request tells, None for one that is no turn of an agent."""
        entries = body.entries
        if body.wire.offers_tools(body.about, body.values):
            self._tools_seen = True
        elif self._tools_seen or body.wire.wants_data(body.about):
            return None  # a title, a router, a summary: the agent's own requests offer tools
        else:
            entries = _without_examples(entries)
            if not any(isinstance(entry, Words) for entry in _flat(entries)):
                return None
            entries = talk.with_calls(entries)
        first = next((n for n, group in enumerate(entries) if _typed(group)), None)
        if first is None or asks_for_title(_typed(entries[first])):
            return None
        lane, known, news = self._lane(body, entries, first)
        if any(asks_for_summary(e.text) for e in entries[-1] if isinstance(e, Said)):
            return Turn(lane, ours=False)
        fresh = [*news, *_new(lane, entries, known)]
        for n in range(max(first + 1, known), len(body.prints)):
            self._lanes.setdefault(body.prints[n], lane)
        for entry in _flat(entries):
            if isinstance(entry, Called) and entry.id:
                self._calls[entry.id] = lane
        self._latest = lane
        return Turn(lane, fresh)

    def replied(self, turn: Turn, entries: Sequence[Entry]) -> list[News]:
        """What a reply tells: the calls that are about to run, else that the turn is over."""
        if not turn.ours:
            return []
        calls = [e for e in entries if isinstance(e, Called)]
        if not calls and not self._tools_seen:
            calls = [e for e in talk.proposed(entries) if isinstance(e, Called)]
        if not calls:
            words = "\n".join(e.text for e in entries if isinstance(e, Words))
            return [{"event": "finished", "message": words}] if words else []
        for call in calls:
            turn.lane.proposed |= {call.id, _key(call)}
        return [_told(call, "proposed") for call in calls]

    def say(self, body: Body, words: str) -> bool:
        """Put words behind the last item, now and from now on; False where none can stand."""
        last = len(body.items) - 1
        if not body.takes_words(last):
            return False
        self._placed[body.prints[last + 1]] = words
        return True

    def words_in(self, body: Body) -> list[tuple[int, str]]:
        """The words that stand in this request: behind which items, and which."""
        numbers = range(len(body.items))
        return [
            (n, self._placed[body.prints[n + 1]])
            for n in (numbers[-1:] if self._transient else numbers)
            if body.prints[n + 1] in self._placed
        ]

    def _lane(
        self, body: Body, entries: Sequence[Sequence[Entry]], first: int
    ) -> tuple[Lane, int, list[News]]:
        """Whose request it is, how many of its items are known, and what to tell before them."""
        lane, known = self._known(body, entries, first)
        summary = _summary(entries, known)
        if summary is not None and (lane := lane or self._latest) is not None:
            lane.told.clear()
            lane.said = Counter(filter(None, map(_typed, entries[: summary + 1])))
            words = _typed(entries[summary])
            return lane, summary + 1, [{"event": "compacted", "summary": words}]
        if lane is not None:
            return lane, known, []
        alone = self._latest is None
        lane = Lane(None if alone else f"p{body.prints[first + 1].hex()[:8]}")
        begun = max((n for n, group in enumerate(entries) if _by_agent(group)), default=-1) + 1
        if begun and self._after_another:
            list(_new(lane, entries, 0))
            return lane, len(entries), []
        past = list(_new(lane, entries[:begun], 0))
        acted = any(one["event"] == "observed" for one in past)
        return lane, begun, [{"event": "resumed", "past": past}] if acted else past

    def _known(
        self, body: Body, entries: Sequence[Sequence[Entry]], first: int
    ) -> tuple[Lane | None, int]:
        """The lane of a conversation that began alike, or that holds calls of one."""
        for known in range(len(body.prints) - 1, first, -1):
            lane = self._lanes.get(body.prints[known])
            if lane is not None:
                return lane, known
        ids = [e.id for e in _flat(entries) if isinstance(e, Called) and e.id in self._calls]
        if ids:  # the agent wrote its history anew
            return self._calls[ids[-1]], 0
        # who has no tools has no subagents
        return (None if self._tools_seen else self._latest), 0


def _new(lane: Lane, entries: Sequence[Sequence[Entry]], known: int) -> Iterator[News]:
    """What stands behind the known items and was not told yet, in its order.

    An agent may write anew what it sent before: what the user said as often before is no news.
    """
    calls = {entry.id: entry for entry in _flat(entries) if isinstance(entry, Called)}
    seen = Counter(filter(None, map(_typed, entries[:known])))
    for group in entries[known:]:
        for entry in group:
            if not isinstance(entry, Returned) or entry.id not in calls:
                continue
            if entry.id in lane.told:
                continue
            lane.told.add(entry.id)
            call = calls[entry.id]
            if not lane.proposed & {call.id, _key(call)}:
                yield _told(call, "proposed")
            lane.proposed -= {call.id, _key(call)}
            yield {**_told(call, "observed"), "output": entry.output, "failed": entry.failed}
        words = _typed(group)
        if words:
            seen[words] += 1
        if words and seen[words] > lane.said[words]:
            lane.said[words] = seen[words]
            yield {"event": "user", "text": words}


def _told(call: Called, event: str) -> dict[str, Any]:
    given = call.given if isinstance(call.given, str) else dict(call.given)
    return {"event": event, "id": call.id, "tool": call.tool, "given": given}


def _key(call: Called) -> str:
    """A call by what it does, where its id is made up anew each time."""
    return f"{call.tool} {json.dumps(call.given, sort_keys=True, default=str)}"


def _typed(group: Sequence[Entry]) -> str:
    return "\n".join(filter(None, (typed(e.text) for e in group if isinstance(e, Said))))


def _by_agent(group: Sequence[Entry]) -> bool:
    """Whether the agent made the item; words may hold a call and what it brought back."""
    kinds = {type(entry) for entry in group}
    return Words in kinds or (Called in kinds and Returned not in kinds)


def _summary(entries: Sequence[Sequence[Entry]], known: int) -> int | None:
    """The number of the item from whose summary the conversation goes on, None if there is none."""
    for number, group in enumerate(entries[known:], start=known):
        if any(isinstance(e, Said) and goes_on(e.text) for e in group):
            return number
    return None


def _flat(entries: Sequence[Sequence[Entry]]) -> list[Entry]:
    return [entry for group in entries for entry in group]


def _without_examples(entries: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """The entries, those of examples taken out; their groups stay."""
    end = -1
    for number, group in enumerate(entries):
        if any(isinstance(e, Said) and e.text.startswith(_EXAMPLES_END) for e in group):
            end = number
    return [[] if number <= end else list(group) for number, group in enumerate(entries)]
