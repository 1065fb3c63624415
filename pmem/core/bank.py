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
        self._by_command = {(e.command, e.cwd): e.id for e in self.entries.values() if e.command}

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
        id = self._by_command.get((command, cwd))
        return self.entries.get(id) if id is not None else None

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
        if entry.command:
            self._by_command[(entry.command, entry.cwd)] = entry.id

    def remove(self, id: str) -> Entry | None:
        """Take an entry out and return it, or None if there is none."""
        entry = self.entries.pop(id, None)
        if entry is not None:
            self._release(entry)
        return entry

    def _release(self, entry: Entry) -> None:
        """The entry no longer folds its command; another one of the same command, as a person
        may have written by hand, takes over."""
        key = (entry.command, entry.cwd)
        if not entry.command or self._by_command.get(key) != entry.id:
            return
        del self._by_command[key]
        for other in self.entries.values():
            if (other.command, other.cwd) == key:
                self._by_command[key] = other.id

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
        wrong = () if op.failed else [e.id for e in self.entries.values() if contradicts(op, e)]
        old = self.attempt(op.command, op.cwd)
        self.put(fold(old, op, id=old.id if old else self._free_id(op.command)))
        for id in wrong:
            stale = f"passed at step {op.step} of {op.session}"
            self.put(replace(self.entries[id], stale=stale))

    def _free_id(self, command: str) -> str:
        try:
            base = normal_id(command)
        except ValueError:  # nothing but punctuation, as `[[ … ]]` can be
            base = "command"
        return free_id(base, self.entries)
