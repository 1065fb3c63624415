"""Long texts cut to head and tail, as observations keep them."""

from __future__ import annotations

import os
import stat

from pmem.core.excerpt import MARGIN, tail_of
from pmem.core.excerpt import excerpt as cut

#: An observation keeps at most this many characters.
MAX_OBSERVATION = 20_000
#: Of a file that holds one, so much of its end.
TAIL = MAX_OBSERVATION * 2 // 3


def excerpt(text: str, limit: int = MAX_OBSERVATION) -> str:
    """The text, or its head and tail around a line that says how many characters are left out."""
    return cut(text, limit)


def file_end(path: str) -> str:
    """The end of an output that an agent put into a file, "" if it cannot be read."""
    kept = file_tail(path, TAIL + MARGIN)
    return tail_of(kept, TAIL) if len(kept) > TAIL else kept


def file_tail(path: str, limit: int = TAIL) -> str:
    """The last `limit` bytes of a file as text, "" if it cannot be read, or is no plain file."""
    try:
        # The path was told by an agent: opening a pipe must not wait for who writes into it.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:  # noqa: PTH123 (a descriptor)
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return ""
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - limit))
            return file.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
