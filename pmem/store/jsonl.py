"""JSON lines, append-only: one `os.write` a record, torn lines skipped by whoever reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pmem.core import json_text

#: Line ends to some readers, though not to JSON; they only stand within strings.
_BREAKS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def encode(record: Mapping[str, Any]) -> bytes:
    """The record as one line with its newline; any string survives, lone surrogates too."""
    text = json.dumps(record, ensure_ascii=False, separators=(", ", ": "), default=str)
    try:
        line = text.encode()
    except UnicodeEncodeError:
        return json.dumps(record, default=str).encode() + b"\n"
    if not text.isascii():
        for char, escape in _BREAKS.items():
            text = text.replace(char, escape)
        line = text.encode()
    return line + b"\n"


def append(fd: int, lines: bytes) -> None:
    """Append whole lines to a file opened by `files.open_append`.

    A line that an earlier writer left torn is ended first, so that it takes no other with it.
    Raises OSError if not all could be written.
    """
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        lines = b"\n" + lines
    written = os.write(fd, lines)
    while written < len(lines):  # a full disk takes a part and refuses the rest
        written += os.write(fd, lines[written:])


class Lines:
    """The records of a file, in order. `torn` counts the lines that could not be read so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        with os.fdopen(fd, "rb") as file:
            for line in file:
                record = self._record(line)
                if record is not None:
                    yield record

    def _record(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        try:
            record = json_text.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            return record
        self.torn += 1
        return None
