"""MemoryBank: status, knowledge and procedural entries, and the operations on them.

The bank is an ordered value in memory. The memory agent changes it through the paper's four
operations; finished commands are folded in by `RecordAttempt`. Files are the store's business.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from unicodedata import normalize

Section = Literal["knowledge", "procedural"]

#: A bank holds at most this many entries; the store moves the rest to archive.jsonl.
MAX_ENTRIES = 500
#: The paper's limit for the status, in characters.
MAX_STATUS = 2000
#: Step numbers kept per entry for failed and for passed attempts.
MAX_STEPS_KEPT = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact of the bank. Knowledge uses the first block of fields, procedural all of them.

    `source` is `user`, `FILE:LINE`, `step N of SESSION` or `model`; `when` is a watch as it
    stands in bank.toml; `extra` holds keys this version does not know, kept as they are.
    """

    section: Section
    id: str
    content: str
    tags: tuple[str, ...] = ()
    source: str = ""
    when: Mapping[str, Any] | None = None
    note: str = ""

    outcome: str = ""
    command: str = ""
    cwd: str = ""
    attempts: int = 0
    exit_code: int | None = None
    failure: str = ""
    output: str = ""
    first_step: int | None = None
    last_step: int | None = None
    failed_steps: tuple[int, ...] = ()
    passed_steps: tuple[int, ...] = ()
    session: str = ""

    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """`memory_update_status(content)`"""

    content: str


@dataclass(frozen=True, slots=True)
class SaveKnowledge:
    """`memory_save_knowledge(id, content, tags)`; saving a known id updates it."""

    id: str
    content: str
    tags: tuple[str, ...] = ()
    source: str = "model"
    when: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SaveProcedural:
    """`memory_save_procedural(id, content, outcome)`; saving a known id updates it."""

    id: str
    content: str
    outcome: str
    source: str = "model"
    when: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """`memory_delete(id)`; an unknown id is no error."""

    id: str


@dataclass(frozen=True, slots=True)
class RecordAttempt:
    """A finished command, to be folded into the one entry of its normal form and directory.

    `failure` is the one line that says why it failed, empty if it passed or does not say.
    `output` holds the last lines of the observation, `cwd` is relative to the project.
    """

    command: str
    cwd: str
    failed: bool
    exit_code: int | None
    failure: str
    output: str
    step: int
    session: str


@dataclass(frozen=True, slots=True)
class PutEntry:
    """An entry as a person wrote it, whole; one with this id is replaced."""

    entry: Entry


BankOp = UpdateStatus | SaveKnowledge | SaveProcedural | Delete | RecordAttempt | PutEntry


class MemoryBank:
    """Status, and entries by id in the order they were first saved."""

    def __init__(self, status: str = "", entries: Iterable[Entry] = ()) -> None:
        self.status = status
        self.entries: dict[str, Entry] = {entry.id: entry for entry in entries}
        #: What a bank file holds beyond this: keys and entries this version cannot read.
        self.extra: dict[str, Any] = {}
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

    def attempt(self, command: str, cwd: str) -> Entry | None:
        """The entry into which attempts of this normal form in this directory are folded."""
        id = self._by_command.get((command, cwd))
        return self.entries.get(id) if id is not None else None

    def apply(self, op: BankOp) -> None:
        """Carry out one operation.

        Ids are normalised. Raises ValueError for an empty id, and for a save over what a person
        wrote by anybody else: their words and their watches stay theirs.
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
                    )
                )
            case Delete(id):
                known = self._known(id)
                if known is not None:
                    self.remove(known)
            case RecordAttempt():
                self._record(op)
            case PutEntry(entry):
                self.put(entry)

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

    def _known(self, id: str) -> str | None:
        """The id an entry has, as given or in its normal form; None if there is none."""
        if id in self.entries:
            return id
        try:
            normal = normal_id(id)
        except ValueError:
            return None
        return normal if normal in self.entries else None

    def _old(self, id: str, section: Section, source: str) -> Entry:
        known = self._known(id)
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
        old = self.attempt(op.command, op.cwd)
        self.put(fold(old, op, id=old.id if old else self._free_id(op.command)))

    def _free_id(self, command: str) -> str:
        try:
            base = normal_id(command)
        except ValueError:  # nothing but punctuation, as `[[ … ]]` can be
            base = "command"
        return free_id(base, self.entries)


def normal_id(text: str) -> str:
    """An id from any text: lower case, words of any script joined by `-`, at most 48 characters.

    Raises ValueError if nothing is left.
    """
    text = normalize("NFC", text.lower())
    id = re.sub(r"[^\w.]+", "-", text).strip("-._")[:48].rstrip("-._")
    if not id:
        raise ValueError(f"no usable id in {text[:40]!r}")
    return id


def free_id(base: str, taken: Container[str]) -> str:
    """The id itself, or with the first number that is free: `make`, `make-2`, …"""
    id, n = base, 1
    while id in taken:
        n += 1
        number = f"-{n}"
        id = base[: 48 - len(number)].rstrip("-._") + number
    return id


def fold(old: Entry | None, op: RecordAttempt, *, id: str) -> Entry:
    """The entry after one more attempt.

    A content that a person or a model wrote is kept; one that pmem wrote is written anew.
    """
    if old is None:
        old = Entry("procedural", id, "", command=op.command, cwd=op.cwd)
    same_session = old.session == op.session
    failed = old.failed_steps if same_session else ()
    passed = old.passed_steps if same_session else ()
    if op.failed:
        failed = (*failed, op.step)[-MAX_STEPS_KEPT:]
    else:
        passed = (*passed, op.step)[-MAX_STEPS_KEPT:]
    new = replace(
        old,
        outcome="failed" if op.failed else "succeeded",
        attempts=old.attempts + 1,
        exit_code=op.exit_code,
        failure=op.failure if op.failed else old.failure,
        output=op.output,
        first_step=old.first_step if same_session and old.first_step is not None else op.step,
        last_step=op.step,
        failed_steps=failed,
        passed_steps=passed,
        session=op.session,
        source=old.source or f"step {op.step} of {op.session}",
    )
    written_by_pmem = not old.content or old.content == describe(old)
    if not written_by_pmem:
        return new
    return replace(new, content=describe(new))


def describe(entry: Entry) -> str:
    """The sentence pmem writes for a folded command, from the entry's own fields.

    >>> describe(Entry("procedural", "t", "", command="make", attempts=1, failed_steps=(2,),
    ...                exit_code=2))
    'make: failed at step 2 (exit 2).'
    """
    where = f" in {entry.cwd}/" if entry.cwd else ""
    parts = []
    if entry.failed_steps:
        why = entry.failure
        if not why and entry.exit_code and entry.outcome == "failed":
            why = f"exit {entry.exit_code}"
        parts.append(f"failed at {_steps(entry.failed_steps)}" + (f" ({why})" if why else ""))
    if entry.passed_steps:
        parts.append(f"passed at {_steps(entry.passed_steps)}")
    earlier = entry.attempts - len(entry.failed_steps) - len(entry.passed_steps)
    if earlier > 0:
        parts.append(f"{earlier} earlier attempt{'s' if earlier > 1 else ''}")
    return f"{entry.command}{where}: {'; '.join(parts)}."


def _steps(numbers: tuple[int, ...]) -> str:
    joined = ", ".join(str(n) for n in numbers)
    return f"step{'s' if len(numbers) > 1 else ''} {joined}"
