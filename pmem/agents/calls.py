"""Calls between the events that tell of them.

Agents with hooks tell a call twice, before and after, and leave something out each time: the end
tells no directory, a refusal tells no end at all. What was proposed is remembered here, so that
each call becomes one step, in its own trajectory, whatever order the events come in.
"""

from __future__ import annotations

import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pmem.core.step import Action, Step

#: Calls remembered, over all trajectories of one agent.
MAX_CALLS = 512

#: One trajectory of one conversation: its id, and the subagent's.
Lane = tuple[str | None, str | None]
#: One call: its trajectory, and its id there.
Key = tuple[Lane, str | None]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it was proposed, and how it ended.

    `prompt` counts the user's prompts before it; `told` says that its end was told, `held` that
    pmem put it back.
    """

    action: Action
    prompt: int = 0
    told: bool = False
    held: bool = False

    @property
    def open(self) -> bool:
        """Its end is still to come, or will never be told."""
        return not (self.told or self.held)


class Calls:
    """The latest calls of one agent."""

    def __init__(self) -> None:
        self._calls: OrderedDict[Key, Call] = OrderedDict()
        self._prompts: Counter[Lane] = Counter()

    def get(self, key: Key) -> Call | None:
        """What is known of a call, None if nothing was told yet."""
        return self._calls.get(key)

    def prompt(self, lane: Lane) -> None:
        """The user said something: open calls before it may be over, or may still run."""
        self._prompts[lane] += 1

    def propose(self, key: Key, action: Action) -> None:
        """A call is about to run."""
        self._put(key, Call(action, self._prompts[key[0]]))

    def hold(self, key: Key, action: Action) -> None:
        """A proposed call was put back: its end is no step."""
        call = self._calls.get(key) or Call(action, self._prompts[key[0]])
        self._put(key, replace(call, held=True))

    def end(self, key: Key, action: Action) -> Action:
        """A call ended. Returns it as it was proposed, or as it is told now if it never was."""
        call = self._calls.get(key) or Call(action, self._prompts[key[0]])
        self._put(key, replace(call, told=True))
        return call.action

    def give_up(self, lane: Lane, *, turn_over: bool) -> list[Action]:
        """The open calls that will never be told: turned down, or interrupted.

        Asked when the next call is proposed, those from before the latest prompt; asked when the
        turn is over, all of them. A prompt alone ends none: it may be queued while a call runs.
        """
        before = self._prompts[lane] + turn_over
        return self._close(lane, lambda call: call.prompt < before)

    def close(self, lane: Lane, *, kind: str) -> list[Action]:
        """The open calls of this kind, over from now on."""
        return self._close(lane, lambda call: call.action.kind == kind)

    def _close(self, lane: Lane, which: Callable[[Call], bool]) -> list[Action]:
        over = [
            key for key, call in self._calls.items() if key[0] == lane and call.open and which(call)
        ]
        for key in over:
            self._calls[key] = replace(self._calls[key], told=True)
        return [self._calls[key].action for key in over]

    def _put(self, key: Key, call: Call) -> None:
        self._calls[key] = call
        self._calls.move_to_end(key)
        if len(self._calls) > MAX_CALLS:
            self._calls.popitem(last=False)


class Names:
    """Ids for calls whose agent has none: the conversation, the call, and how often it ran.

    The same call has the same one by its hook and in a transcript that is read from its start.
    """

    def __init__(self) -> None:
        self._ran: Counter[str] = Counter()

    def known(self, steps: Iterable[Step]) -> None:
        """These were named before."""
        self._ran.update(step.call_id.rpartition(":")[0] for step in steps if step.call_id)

    def name(self, key: Key) -> str:
        """The id of the next call of this kind."""
        (conversation, _), call = key
        name = f"{conversation}:{zlib.crc32(str(call).encode('utf-8', 'replace')):08x}"
        self._ran[name] += 1
        return f"{name}:{self._ran[name]}"
