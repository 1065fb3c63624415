"""Desk: a person's changes to the bank, one at a time, with undo; others may write meanwhile.

Only the fields that were changed are written, onto whatever the entry has become by then. Where
somebody else changed the very same field, nothing is written and the conflict is handed back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pmem.core.bank import Amend, BankOp, Delete, Entry, Mark, PutEntry, free_id, normal_id
from pmem.store.bank_file import LAST_PATIENCE, BankFile
from pmem.store.tidy import tidy_op

#: The tag of entries that a person wants kept.
PINNED = "pinned"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field that was changed by two hands: what it was, what it is by now, what was wanted.

    `ours` is the whole change, to be carried out all the same or to be dropped; `entry` is what the
    person began from, should somebody have deleted it.
    """

    id: str
    field: str
    before: Any
    theirs: Any
    wanted: Any
    ours: Amend
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, in words, and how it is done and undone again."""

    words: str
    ops: tuple[BankOp, ...]
    undo: tuple[BankOp, ...]


class Desk:
    """Changes one bank file. Each method returns words for the user, or a Conflict."""

    def __init__(self, bank_file: BankFile) -> None:
        self.bank_file = bank_file
        #: The entry that the last undo or redo was about.
        self.touched = ""
        self._done: list[Change] = []
        self._undone: list[Change] = []

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The entries as they are known now."""
        return self.bank_file.bank.entries

    def amend(self, before: Entry, **fields: Any) -> str | Conflict:
        """Change fields of an entry that looked like `before` when the person began."""
        changed = {n: v for n, v in fields.items() if getattr(before, n) != v}
        if not changed:
            return "nothing changed"
        was = {name: getattr(before, name) for name in changed}
        said = self.carry_out(Amend(before.id, was, changed))
        return replace(said, entry=before) if isinstance(said, Conflict) else said

    def carry_out(self, op: Amend, words: str = "") -> str | Conflict:
        """Write a change of fields, unless one of them was changed by somebody else."""
        op = tidied(op)
        self.bank_file.refresh()
        conflict = self._conflict(op)
        if conflict is not None:
            return conflict
        back = Amend(op.id, op.after, op.before)
        said = self._do(Change(words or f"{op.id} is changed", (op,), (back,)))
        return self._conflict(op) or said  # it may have come while we waited for the lock

    def insist(self, conflict: Conflict) -> str | Conflict:
        """Carry a change out over what somebody else wrote."""
        now = self.entries.get(conflict.id)
        if now is None:
            old = conflict.entry or Entry("knowledge", conflict.id, "")
            made = replace(old, **dict(conflict.ours.after))
            return self._do(
                Change(f"{made.id} is back", (PutEntry(made),), (Delete(made.id, "user"),))
            )
        was = {name: getattr(now, name) for name in conflict.ours.after}
        return self.carry_out(replace(conflict.ours, before=was))

    def add(self, content: str, id: str = "") -> str:
        """A fact of the person's own. Raises ValueError if there is nothing in it."""
        if not content.strip():
            raise ValueError("there is nothing to remember in it")
        words = id or " ".join(content.split()[:5])
        try:
            named = normal_id(words)[:32].rstrip("-._")
        except ValueError:
            named = "note"
        self.bank_file.refresh()
        named = free_id(named, self.entries)
        entry = Entry("knowledge", named, content.strip(), source="user")
        return self._do(Change(f"remembered {named}", (PutEntry(entry),), (Delete(named, "user"),)))

    def delete(self, *entries: Entry) -> str:
        """Forget entries; undo brings them back as they were."""
        ops = tuple(Delete(entry.id, "user") for entry in entries)
        undo = tuple(PutEntry(entry) for entry in entries)
        what = entries[0].id if len(entries) == 1 else f"{len(entries)} entries"
        said = self._do(Change(f"forgot {what}", ops, undo))
        return f"{said} (u brings it back)" if said == f"forgot {what}" else said

    def pin(self, entry: Entry) -> str | Conflict:
        """Keep an entry however full the bank is, or no more."""
        tags = tuple(t for t in entry.tags if t != PINNED)
        pinned = PINNED in entry.tags
        op = Amend(entry.id, {"tags": entry.tags}, {"tags": tags if pinned else (*tags, PINNED)})
        return self.carry_out(op, f"{entry.id} is {'no longer pinned' if pinned else 'pinned'}")

    def trust(self, entry: Entry) -> str:
        """Take the mark of a stale entry away: what it says still holds, as its files are now."""
        ops = (Mark(entry.id, "", {}),)
        undo = (Mark(entry.id, entry.stale, entry.files),)
        return self._do(Change(f"{entry.id} is relied on again", ops, undo))

    def undo(self) -> str:
        """Take the last change back."""
        if not self._done:
            return "there is nothing to undo"
        change = self._done.pop()
        self.touched = _id_of(change.undo[0])
        trouble = self._write(change.undo)
        if not trouble:
            self._undone.append(change)
        return trouble or f"undone: {change.words} (ctrl-R does it again)"

    def redo(self) -> str:
        """Do the last undone change again."""
        if not self._undone:
            return "there is nothing to redo"
        change = self._undone.pop()
        self.touched = _id_of(change.ops[0])
        trouble = self._write(change.ops)
        if not trouble:
            self._done.append(change)
        return trouble or f"done again: {change.words}"

    def _do(self, change: Change) -> str:
        trouble = self._write(change.ops)
        if trouble:
            return trouble
        self._done.append(change)
        self._undone.clear()
        return change.words

    def _write(self, ops: tuple[BankOp, ...]) -> str:
        """Carry out and write; "" if all went well, else why not."""
        refused = self.bank_file.apply(ops)
        if refused:
            return refused[0]
        if not self.bank_file.flush(LAST_PATIENCE):
            return f"not written: {self.bank_file.problem}"
        return ""

    def _conflict(self, op: Amend) -> Conflict | None:
        now = self.entries.get(op.id)
        for name, wanted in op.after.items():
            theirs = getattr(now, name) if now is not None else None
            if now is None or theirs not in (op.before[name], wanted):
                return Conflict(op.id, name, op.before[name], theirs, wanted, op)
        return None


def _id_of(op: BankOp) -> str:
    return op.entry.id if isinstance(op, PutEntry) else str(getattr(op, "id", ""))


def tidied(op: Amend) -> Amend:
    """The change as the file will have it."""
    made = tidy_op(op)
    assert isinstance(made, Amend)
    return made


#: Opens a text in the person's editor: the text afterwards, None if it is as it was.
Editor = Callable[[str], str | None]
