"""MemoryBank: status, knowledge and procedural entries, and the operations on them.

The bank is an ordered value in memory. The memory agent changes it through the paper's four
operations; finished commands are folded in by `RecordAttempt`. Files are the store's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pmem.core.entry import (
    MAX_ENTRIES,
    MAX_STATUS,
    MAX_STEPS_KEPT,
    Amend,
    BankOp,
    Delete,
    Entry,
    Mark,
    PutEntry,
    RecordAttempt,
    SaveKnowledge,
    SaveProcedural,
    Section,
    UpdateStatus,
    free_id,
    normal_id,
)
from pmem.core.fold import amended, contradicts, describe, fold

__all__ = [
    "MAX_ENTRIES",
    "MAX_STATUS",
    "MAX_STEPS_KEPT",
    "Amend",
    "BankOp",
    "Delete",
    "Entry",
    "Mark",
    "MemoryBank",
    "PutEntry",
    "RecordAttempt",
    "SaveKnowledge",
    "SaveProcedural",
    "Section",
    "UpdateStatus",
    "describe",
    "fold",
    "free_id",
    "normal_id",
]


class MemoryBank:
    """Status, and entries by id in the order they were first saved."""

    def __init__(self, status: str = "", entries: Iterable[Entry] = ()) -> None:
        self.status = status
        self.entries: dict[str, Entry] = {entry.id: entry for entry in entries}
        #: What a bank file holds beyond this: keys and entries this version cannot read.
        self.extra: dict[str, Any] = {}
        #: The layout of the file it was read from, None if it was not.
        self.schema: int | None = None
        #: How often the file was written by then, 0 if it does not say.
        self.revision = 0
        #: The ids of each command in each directory, the one put last at the end. Entries of no
        #: command stand apart: only their words can tell what they are about.
        self._by_command: dict[tuple[str, str], tuple[str, ...]] = {}
        self._without: dict[str, None] = {}
        for entry in self.entries.values():
            self._index(entry)

    def copy(self) -> MemoryBank:
        """Another bank of the same entries; what is done to one is not done to the other."""
        other = MemoryBank(self.status)
        other.entries, other._by_command = self.entries.copy(), self._by_command.copy()
        other._without, other.extra = self._without.copy(), self.extra.copy()
        other.schema, other.revision = self.schema, self.revision
        return other

    @property
    def knowledge(self) -> list[Entry]:
        """The knowledge entries, oldest first."""
        return [e for e in self.entries.values() if e.section == "knowledge"]

    @property
    def procedural(self) -> list[Entry]:
        """The procedural entries, oldest first."""
        return [e for e in self.entries.values() if e.section == "procedural"]

    def get(self, id: str) -> Entry | None:
        """The entry with this id, or None."""
        return self.entries.get(id)

    def known(self, id: str) -> str | None:
        """The id an entry has, as given or in its normal form; None if there is none."""
        if id in self.entries:
            return id
        try:
            normal = normal_id(id)
        except ValueError:
            return None
        return normal if normal in self.entries else None

    def attempt(self, command: str, cwd: str) -> Entry | None:
        """The entry into which attempts of this normal form in this directory are folded."""
        ids = self._by_command.get((command, cwd)) if command else None
        return self.entries[ids[-1]] if ids else None

    def apply(self, op: BankOp) -> None:
        """Carry out one operation.

        Ids are normalised. Raises ValueError for an empty id, and where anybody else saves over or
        deletes what a person wrote: their words and their watches stay theirs.
        """
        match op:
            case UpdateStatus(content):
                self.status = content[:MAX_STATUS]
            case SaveKnowledge(id, content, tags, source, when):
                old = self._old(id, "knowledge", source)
                self.put(
                    replace(
                        old,
                        content=content,
                        tags=tags,
                        source=source,
                        when=when if when is not None else old.when,
                        files={},
                        stale="",
                    )
                )
            case SaveProcedural(id, content, outcome, source, when):
                old = self._old(id, "procedural", source)
                self.put(
                    replace(
                        old,
                        content=content,
                        outcome=outcome,
                        source=source,
                        when=when if when is not None else old.when,
                        files={},
                        stale="",
                    )
                )
            case Delete(id, source):
                known = self.known(id)
                if known is not None:
                    if self.entries[known].source == "user" and source != "user":
                        raise ValueError(f"{known} was written by a person and stays")
                    self.remove(known)
            case RecordAttempt():
                self._record(op)
            case PutEntry(entry):
                self.put(entry)
            case Amend():
                self.put(amended(self.entries.get(op.id), op))
            case Mark(id, stale, files):
                old = self.entries.get(id) or Entry("knowledge", id, "")
                if id in self.entries:
                    files = old.files if files is None else files
                    self.put(replace(old, stale=stale, files=files))

    def put(self, entry: Entry) -> None:
        """Add or replace an entry, whole."""
        previous = self.entries.get(entry.id)
        self.entries[entry.id] = entry
        if previous is not None:
            self._release(previous)
        self._index(entry)

    def remove(self, id: str) -> Entry | None:
        """Take an entry out and return it, or None if there is none."""
        entry = self.entries.pop(id, None)
        if entry is not None:
            self._release(entry)
        return entry

    def _index(self, entry: Entry) -> None:
        if not entry.command:
            self._without[entry.id] = None
            return
        key = entry.command, entry.cwd
        self._by_command[key] = (*self._by_command.get(key, ()), entry.id)

    def _release(self, entry: Entry) -> None:
        """The entry no longer folds its command; another one of the same command, as a person
        may have written by hand, takes over."""
        if not entry.command:
            self._without.pop(entry.id, None)
            return
        key = entry.command, entry.cwd
        left = tuple(id for id in self._by_command.get(key, ()) if id != entry.id)
        if left:
            self._by_command[key] = left
        else:
            self._by_command.pop(key, None)

    def _old(self, id: str, section: Section, source: str) -> Entry:
        known = self.known(id)
        if known is None:
            return Entry(section, normal_id(id), "")
        old = self.entries[known]
        if old.source == "user" and source != "user":
            raise ValueError(f"{known} was written by a person; save it under another id")
        if old.section == section:
            return old
        if section == "procedural":
            return replace(old, section=section)
        # Attempts are no part of a stable fact: the command's next run begins an entry anew.
        return Entry(
            section, old.id, old.content, old.tags, old.source, old.when, old.note, extra=old.extra
        )

    def _record(self, op: RecordAttempt) -> None:
        wrong = [] if op.failed else [e.id for e in self._about(op) if contradicts(op, e)]
        old = self.attempt(op.command, op.cwd)
        self.put(fold(old, op, id=old.id if old else self._free_id(op.command)))
        for id in wrong:
            stale = f"passed at step {op.step} of {op.session}"
            self.put(replace(self.entries[id], stale=stale))

    def _about(self, op: RecordAttempt) -> list[Entry]:
        """The entries that may speak of this command: a full bank is not gone through each time."""
        ids = (*self._by_command.get((op.command, op.cwd), ()), *self._without)
        return [self.entries[id] for id in ids]

    def _free_id(self, command: str) -> str:
        try:
            base = normal_id(command)
        except ValueError:  # nothing but punctuation, as `[[ … ]]` can be
            base = "command"
        return free_id(base, self.entries)
