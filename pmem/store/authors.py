"""Whose words an entry's are, where the file alone cannot tell.

Who can write bank.toml can write `source = "user"`, and the agent can. So what somebody else put
there while an agent's step was under way counts as the agent's, unless pmem itself noted that a
person wrote it: `pmem bank add` and `edit` at a terminal do, and sessions for the user's words.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pmem.core.bank import (
    Amend,
    BankOp,
    Entry,
    MemoryBank,
    PutEntry,
    SaveKnowledge,
    SaveProcedural,
)
from pmem.store import files

#: In the project's state directory: digests of what people wrote through pmem, oldest first.
NOTES = "by-user"
MAX_NOTES = 1000
USER, AGENT = "user", "agent"


def vouch(state: Path, ops: Iterable[BankOp], bank: MemoryBank) -> None:
    """Note the entries of a bank that these operations made, or left, the user's; never raises."""
    entries = (bank.get(id) for op in ops if (id := _id(op)))
    own = [_digest(entry) for entry in entries if entry is not None and entry.source == USER]
    if own:
        lines = list(dict.fromkeys([*_notes(state), *own]))[-MAX_NOTES:]
        with contextlib.suppress(OSError):
            files.write_file(state / NOTES, "\n".join([*lines, ""]).encode(), sync=False)


def disown(fresh: MemoryBank, known: MemoryBank, state: Path, *, trusted: bool) -> bool:
    """Give what is new in `fresh`, and says that it is the user's, to the agent; True if anything.

    `known` is the bank before. Not `trusted`: what the agent does has to do with the bank
    itself, so no note of a person counts.
    """
    noted: set[str] | None = None
    given = False
    for entry in list(fresh.entries.values()):
        old = known.get(entry.id)
        if entry.source not in (USER, "") or (old is not None and _says(old) == _says(entry)):
            continue
        if noted is None:
            noted = set(_notes(state)) if trusted else set()
        if _digest(entry) not in noted:
            fresh.put(replace(entry, source=AGENT))
            given = True
    return given


def _id(op: BankOp) -> str:
    match op:
        case SaveKnowledge(id) | SaveProcedural(id) | Amend(id):
            return id
        case PutEntry(entry):
            return entry.id
    return ""


def _says(entry: Entry) -> tuple[object, ...]:
    return entry.content, entry.source, entry.tags, entry.when, entry.command


def _digest(entry: Entry) -> str:
    text = json.dumps([entry.id, entry.content, entry.when], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _notes(state: Path) -> list[str]:
    try:
        return files.read_file(state / NOTES)[0].decode("ascii", "replace").split()
    except OSError:
        return []
