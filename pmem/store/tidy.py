"""What a text goes through before it enters the bank, so that memory and file always agree."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmem.core.bank import (
    Amend,
    BankOp,
    Delete,
    Entry,
    Mark,
    PutEntry,
    RecordAttempt,
    SaveKnowledge,
    SaveProcedural,
    UpdateStatus,
)

#: Limits in characters; what is longer is cut, with a mark where.
MAX_CONTENT = 8000
MAX_OUTPUT = 4000
MAX_COMMAND = 4000
MAX_LINE = 400
#: Room for the mark itself.
_MARK = 80

_SURROGATE = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """The text with LF line ends, U+FFFD for lone surrogates and U+2400 for NUL.

    >>> plain("a\\r\\nb\\x00")
    'a\\nb␀'
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
    return text


def plain_value(value: Any) -> Any:
    """The same for every string within a TOML value."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {plain(str(key)): plain_value(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(inner) for inner in value]
    return value


def cut(text: str, limit: int, *, tail: float = 0.0) -> str:
    """At most `limit` characters (200 or more): a head, a mark that says how much is gone, a tail.

    `tail` is the share of what is kept that the end gets.

    >>> cut("x" * 5000, 200)[115:]
    'xxxxx\\n[… 4880 of 5000 characters left out by pmem …]'
    """
    if len(text) <= limit:
        return text
    kept = limit - _MARK
    last = int(kept * tail)
    mark = f"[… {len(text) - kept} of {len(text)} characters left out by pmem …]"
    head = f"{text[: kept - last]}\n{mark}"
    return f"{head}\n{text[-last:]}" if last else head


def tidy_op(op: BankOp) -> BankOp:
    """The operation as it is applied and queued: plain texts within their limits."""
    match op:
        case UpdateStatus():
            return UpdateStatus(plain(op.content))
        case SaveKnowledge():
            return replace(
                op,
                id=plain(op.id),
                content=_content(op.content),
                tags=_tags(op.tags),
                source=_line(op.source),
                when=_when(op.when),
            )
        case SaveProcedural():
            return replace(
                op,
                id=plain(op.id),
                content=_content(op.content),
                outcome=_line(op.outcome),
                source=_line(op.source),
                when=_when(op.when),
            )
        case Delete():
            return replace(op, id=plain(op.id))
        case RecordAttempt():
            return replace(
                op,
                command=_command(op.command),
                cwd=plain(op.cwd),
                failure=_line(op.failure),
                output=_output(op.output),
                session=_line(op.session),
            )
        case PutEntry():
            return PutEntry(tidy_entry(op.entry))
        case Amend():
            after = {name: _field(name, value) for name, value in op.after.items()}
            return replace(op, after=after)
        case Mark():
            return replace(op, stale=_line(op.stale))


def tidy_entry(entry: Entry) -> Entry:
    """The same for a whole entry."""
    return replace(
        entry,
        id=plain(entry.id),
        content=_content(entry.content),
        tags=_tags(entry.tags),
        source=_line(entry.source),
        when=_when(entry.when),
        note=_content(entry.note),
        outcome=_line(entry.outcome),
        command=_command(entry.command),
        cwd=plain(entry.cwd),
        failure=_line(entry.failure),
        output=_output(entry.output),
        session=_line(entry.session),
        files=plain_value(entry.files),
        stale=_line(entry.stale),
        extra=plain_value(entry.extra),
    )


def _field(name: str, value: Any) -> Any:
    """One field as `tidy_entry` leaves it."""
    return getattr(tidy_entry(replace(Entry("knowledge", "-", ""), **{name: value})), name)


def _content(text: str) -> str:
    return cut(plain(text), MAX_CONTENT)


def _output(text: str) -> str:
    """Ends in one newline, so that it always stands as a block in the file."""
    text = cut(plain(text), MAX_OUTPUT, tail=0.75).rstrip()
    return text + "\n" if text else ""


def _command(text: str) -> str:
    """Two long commands that differ only at their end stay two."""
    text = plain(text)
    if len(text) <= MAX_COMMAND:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{text[: MAX_COMMAND - 40]} […] {digest}"


def _line(text: str) -> str:
    text = plain(text)
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 1] + "…"


def _tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_line(tag) for tag in tags)


def _when(when: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if when is None else plain_value(when)
