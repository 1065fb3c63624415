"""Said: what has been told, by cause, so that nothing is told twice."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any

from pmem.core.decision import Reminder
from pmem.core.moment import Moment

#: Causes and reminders remembered.
MAX_CAUSES = 512
MAX_RECENT = 64
#: For so many steps after a reminder its entries are not told again for another cause.
QUIET_STEPS = 3


@dataclass(frozen=True, slots=True)
class _Told:
    """One cause: how often it was told, at which step last, and the key of the text."""

    count: int
    step: int
    text: str


class Said:
    """What was told in one trajectory; bounded."""

    def __init__(self) -> None:
        self._causes: OrderedDict[str, _Told] = OrderedDict()
        self._recent: deque[tuple[int, frozenset[str], str]] = deque(maxlen=MAX_RECENT)

    def refuses(self, reminder: Reminder, moment: Moment) -> str:
        """Why a reminder was told before, "" if it was not.

        A cause is told once; once more, in other words, if the agent relapsed; never a third
        time.
        """
        for cause in _causes(reminder, moment):
            told = self._causes.get(cause)
            if told is None:
                continue
            if told.count > 1:
                return f"told twice, last {_before(told.step)}"
            if not reminder.relapse:
                return f"told {_before(told.step)}"
            if told.text == _key(reminder.text):
                return f"told in the same words {_before(told.step)}"
        if reminder.relapse or _counted(reminder):
            return ""
        now = _step(moment)
        entries = frozenset(reminder.entries)
        for step, cited, text in self._recent:
            if text == _key(reminder.text):
                return f"told in the same words {_before(step)}"
            if entries <= cited and 0 <= now - step < QUIET_STEPS:
                return f"its entries were told {_before(step)}"
        return ""

    def add(self, reminder: Reminder, moment: Moment) -> None:
        """A reminder was given."""
        step, key = _step(moment), _key(reminder.text)
        for cause in _causes(reminder, moment):
            before = self._causes.pop(cause, None)
            self._causes[cause] = _Told(before.count + 1 if before else 1, step, key)
        while len(self._causes) > MAX_CAUSES:
            self._causes.popitem(last=False)
        self._recent.append((step, frozenset(reminder.entries), key))

    def snapshot(self) -> dict[str, Any]:
        """All of it as plain JSON values, for a restart; step numbers must go on from there."""
        return {
            "causes": [[cause, t.count, t.step, t.text] for cause, t in self._causes.items()],
            "recent": [[step, sorted(entries), text] for step, entries, text in self._recent],
        }

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any]) -> Said:
        """What `snapshot` gave; records that cannot be read are left out."""
        said = cls()
        for record in _list(snapshot, "causes"):
            match record:
                case [str(cause), int(count), int(step), str(text)]:
                    said._causes[cause] = _Told(count, step, text)
        for record in _list(snapshot, "recent"):
            match record:
                case [int(step), [*entries], str(text)]:
                    said._recent.append((step, frozenset(map(str, entries)), text))
        while len(said._causes) > MAX_CAUSES:
            said._causes.popitem(last=False)
        return said


def _list(snapshot: Mapping[str, Any], key: str) -> list[Any]:
    value = snapshot.get(key)
    return value if isinstance(value, list) else []


def _causes(reminder: Reminder, moment: Moment) -> tuple[str, ...]:
    """What counts as the cause: the one given, and the fact itself if just one is cited.

    A rule and a watch that stand on one sentence of AGENTS.md are one cause; an entry that was
    rewritten is a new one.
    """
    if len(reminder.entries) != 1 or _counted(reminder):
        return (reminder.cause,)
    entry = moment.bank.get(reminder.entries[0])
    if entry is None or entry.section != "knowledge":
        return (reminder.cause,)
    return reminder.cause, f"entry:{entry.id}:{_key(entry.content)}"


def _counted(reminder: Reminder) -> bool:
    """A watch with `times = N` that is told for another time says so in its cause."""
    return reminder.reason.startswith("watch:") and "#" in reminder.cause


def _step(moment: Moment) -> int:
    last = moment.last_step
    return last.number if last is not None else 0


def _before(last: int) -> str:
    """Where a reminder stands in the session's record: before the step that came next."""
    return f"before step {last + 1}"


def _key(text: str) -> str:
    """A text as it is compared: letters, digits and nothing else."""
    letters = "".join(c for c in text.casefold() if c.isalnum())
    return blake2s(letters.encode("utf-8", "replace"), digest_size=8).hexdigest()
