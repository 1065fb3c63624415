"""Trajectory: the steps of one action agent so far, bounded for a week-long session."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import islice

from pmem.core.step import Step

#: Whole steps kept; older ones are in steps.jsonl.
MAX_STEPS = 256
#: Characters kept of an action, an observation or a thought, head and tail.
MAX_TEXT = 20_000
#: Messages of the user kept: the first ones, which hold the task, and the latest.
FIRST_MESSAGES = 8
LATEST_MESSAGES = 56
#: Characters kept of a message of the user.
MAX_MESSAGE = 8_000


class Trajectory:
    """The task, the newest steps and what the user said.

    Steps come numbered. `next_number` is one more than the newest, and goes on from `first`
    where an earlier part of the session is not at hand.
    """

    def __init__(self, task: str = "", *, first: int = 1, limit: int = MAX_STEPS) -> None:
        self.task = task
        self.next_number = first
        self._steps: deque[Step] = deque(maxlen=limit)
        self._first_messages: list[tuple[int, str]] = []
        self._latest_messages: deque[tuple[int, str]] = deque(maxlen=LATEST_MESSAGES)

    def append(self, step: Step) -> None:
        """Take a finished step in. Long texts are cut in the middle, around a mark.

        A step of kind `user` also counts as a message of the user.
        """
        kept = replace(
            step,
            action=cut_middle(step.action),
            observation=cut_middle(step.observation),
            thought=cut_middle(step.thought),
        )
        self._steps.append(kept)
        self.next_number = max(self.next_number, step.number + 1)
        if step.kind == "user":
            self._hear(step.number, step.observation or step.action)

    def window(self, k: int) -> list[Step]:
        """The last `k` steps, oldest first; all there are if they are fewer."""
        if k <= 0:
            return []
        return list(islice(self._steps, max(0, len(self._steps) - k), None))

    @property
    def recent(self) -> tuple[Step, ...]:
        """All steps kept, oldest first."""
        return tuple(self._steps)

    @property
    def user_messages(self) -> list[tuple[int, str]]:
        """What the user said, with step numbers, oldest first; between the first ones and the
        latest some may be missing."""
        return [*self._first_messages, *self._latest_messages]

    def _hear(self, number: int, text: str) -> None:
        message = (number, cut_middle(text, MAX_MESSAGE))
        if len(self._first_messages) < FIRST_MESSAGES:
            self._first_messages.append(message)
        else:
            self._latest_messages.append(message)


def cut_middle(text: str, limit: int = MAX_TEXT) -> str:
    """The text in at most `limit` characters: its head and its tail around a line that says how
    much is missing."""
    if len(text) <= limit:
        return text
    mark = f"\n[… {len(text)} characters, the middle left out …]\n"
    room = limit - len(mark)
    if room <= 0:
        return text[: max(0, limit)]
    # A failure stands at the end more often than at the beginning.
    tail = room * 2 // 3
    return text[: room - tail] + mark + text[len(text) - tail :]
