"""Long texts cut to head and tail, as observations keep them."""

from __future__ import annotations

import os
import stat

#: An observation keeps at most this many characters.
MAX_OBSERVATION = 20_000


def excerpt(text: str, limit: int = MAX_OBSERVATION) -> str:
    """The text, or its head and tail around a line that says how many characters are left out."""
    if len(text) <= limit:
        return text
    head, tail = limit // 3, limit - limit // 3
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[-tail:]}"


def file_tail(path: str, limit: int = MAX_OBSERVATION * 2 // 3) -> str:
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
