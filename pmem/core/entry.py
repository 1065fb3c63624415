"""Entry: one fact of the bank; and the operations that change a bank."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
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

    `source` is `user`, `FILE:LINE`, `step N of SESSION`, `model` or `agent` (what the action agent
    wrote into bank.toml itself); `when` is a watch as it stands in bank.toml; `files` holds a hash
    of each file (or `FILE:LINE`) the entry cites, as it was when the fact was noted; `stale` says
    why the entry is not to be relied on, "" if nothing speaks against it; `extra` holds keys this
    version does not know, kept as they are.
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

    files: Mapping[str, str] = field(default_factory=dict)
    stale: str = ""

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
    """`memory_delete(id)`; an unknown id is no error. A person's is for `source` "user" alone."""

    id: str
    source: str = "model"


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


@dataclass(frozen=True, slots=True)
class Amend:
    """Some fields of an entry as a person changed them; the others stay what they are by then.

    Both map names of fields to values; ValueError if one is neither as before nor as after.
    """

    id: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mark:
    """Whether an entry can still be relied on, and the hashes of what it cites (None: as before).

    An unknown id is no error.
    """

    id: str
    stale: str
    files: Mapping[str, str] | None = None


BankOp = (
    UpdateStatus | SaveKnowledge | SaveProcedural | Delete | RecordAttempt | PutEntry | Amend | Mark
)


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
