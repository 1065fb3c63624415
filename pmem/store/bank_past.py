"""Past: what the file held lately, so that an editor's older copy takes nothing away.

A person may open bank.toml, think for a while, and save: what was written meanwhile is not in
their copy. Its `revision` says which one they began from; what changed since is put into it
again, field by field, and not over what the person wrote.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from pmem.core.bank import Entry, MemoryBank

#: Revisions looked back at: one is written a second at most.
MAX_REVISIONS = 1000
#: Entries held for that: what a busy hour changes, or a minute of many agents.
MAX_HELD = 1500

_FIELDS = tuple(field.name for field in fields(Entry))
#: An entry as it was, by a hash of each field in turn: it is compared only, and so takes a tenth.
Sketch = bytes


@dataclass(frozen=True, slots=True)
class Change:
    """What a revision changed: the entries and the status as they were before it."""

    revision: int
    entries: Mapping[str, Sketch | None]
    status: str


class Past:
    """The file's revisions since it was first read; `revision` is the last one known."""

    def __init__(self) -> None:
        self.revision = 0
        self._changes: deque[Change] = deque()
        self._held = 0
        self._entries: dict[str, Entry] = {}
        self._status = ""
        self._begun = False

    def took(self, bank: MemoryBank) -> None:
        """The file holds this bank now, as we read it or wrote it."""
        if self._begun:
            ids = self._entries.keys() | bank.entries.keys()
            before = {i: sketch(o) for i in ids if _other(o := self._entries.get(i), bank.get(i))}
            self._changes.append(Change(bank.revision, before, self._status))
            self._held += len(before)
            while len(self._changes) > MAX_REVISIONS or self._held > MAX_HELD:
                self._held -= len(self._changes.popleft().entries)
        self._entries, self._status = dict(bank.entries), bank.status
        self.revision = max(self.revision, bank.revision)
        self._begun = True

    def restore(self, fresh: MemoryBank) -> tuple[bool, list[str]]:
        """Put into a file that began from an older revision what it lacks.

        Returns whether it did, and the ids of entries that both changed in the same field: those
        fields stay as the person has them.
        """
        if not self._begun or not 0 < fresh.revision < self.revision:
            return False, []
        base = {id: sketch(entry) for id, entry in self._entries.items()}
        status = self._status
        for change in reversed(self._changes):
            if change.revision <= fresh.revision:
                break
            base.update(change.entries)
            status = change.status
        both: list[str] = []
        for id in base.keys() | self._entries.keys():
            self._merge(id, base.get(id), fresh, both)
        if fresh.status == status:
            fresh.status = self._status
        fresh.revision = self.revision + 1  # what it is now, no file has held so far
        return True, both

    def _merge(self, id: str, base: Sketch | None, fresh: MemoryBank, both: list[str]) -> None:
        ours, theirs = self._entries.get(id), fresh.get(id)
        mine, yours = sketch(ours), sketch(theirs)
        if mine in (base, yours):
            return
        if yours == base:
            if ours is None:
                fresh.remove(id)
            else:
                fresh.put(ours)
        elif ours is None or theirs is None or base is None or mine is None or yours is None:
            both.append(id)  # one forgot what the other changed: the person's word stands
        else:
            rows = list(zip(_FIELDS, *map(_hashes, (mine, base, yours)), strict=True))
            if any(a != b and c != b for _, a, b, c in rows):
                both.append(id)
            own = {name: getattr(ours, name) for name, a, b, c in rows if a != b and c == b}
            fresh.put(replace(theirs, **own))


def sketch(entry: Entry | None) -> Sketch | None:
    """What tells an entry from its other versions, within this process; None of None."""
    if entry is None:
        return None
    values = (getattr(entry, name) for name in _FIELDS)
    return array("q", (hash(v if isinstance(v, str) else repr(v)) for v in values)).tobytes()


def _hashes(sketch: Sketch) -> memoryview:
    return memoryview(sketch).cast("q")


def _other(old: Entry | None, new: Entry | None) -> bool:
    return old is not new and old != new
