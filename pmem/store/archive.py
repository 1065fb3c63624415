"""archive.jsonl: what left the bank, one entry a line, the newest kept within a size."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from pmem.core.entry import Entry
from pmem.store import files, jsonl
from pmem.store.bank_entry import to_table

NAME = "archive.jsonl"
#: Bytes it may have, if nothing else is set.
MAX_BYTES = 20 * 1024 * 1024
#: What is too large is cut to so much of that, lest every further entry cuts it again.
KEPT = 0.75


def append(
    dir_fd: int, leaving: Sequence[tuple[Entry, str]], *, max_bytes: int = MAX_BYTES
) -> None:
    """Add entries, each with the reason why it left, under the bank's lock. 0 bytes: no limit.

    Raises OSError if it cannot be written; what is there stays then.
    """
    now = round(time.time(), 3)
    lines = b"".join(
        jsonl.encode({"time": now, "reason": reason, "section": entry.section, **to_table(entry)})
        for entry, reason in leaving
    )
    fd = files.open_append(NAME, dir_fd)
    try:
        jsonl.append(fd, lines)
        os.fsync(fd)
        size = os.fstat(fd).st_size
    finally:
        os.close(fd)
    if 0 < max_bytes < size:
        _cut(dir_fd, int(max_bytes * KEPT))


def _cut(dir_fd: int, keep: int) -> None:
    """Leave the newest whole lines within `keep` bytes."""
    fd = os.open(NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    with os.fdopen(fd, "rb") as file:
        file.seek(-keep - 1, os.SEEK_END)
        newest = file.read().partition(b"\n")[2]
    files.discard_stale(dir_fd, NAME)
    new, _ = files.prepare(dir_fd, NAME, newest)
    try:
        files.commit(dir_fd, new, NAME)
    except OSError:
        files.discard(dir_fd, new)
        raise
