"""Records: a file of JSON lines read by byte offset, so that its length costs nothing.

The lines of a session are in the order of their numbers, so any one is found by halving; what is
shown is read, and no more. The file may grow meanwhile.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pmem.core import json_text

#: What is read at once, in bytes, and how many such blocks are kept.
BLOCK = 1 << 14
KEPT = 256


Form = Callable[[dict[str, Any]], dict[str, Any] | None]


class Records:
    """The records of one file that hold a number under `key`, in its order.

    `form` makes a record what its readers may trust, or None of one that is none.
    `bytes_read` and `records_read` tell what was done so far. A file that is not there is empty.
    """

    def __init__(self, path: Path, key: str, form: Form | None = None) -> None:
        self.path = path
        self.key = key
        self._form = form
        self.bytes_read = 0
        self.records_read = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    @property
    def size(self) -> int:
        """The file's size now, in bytes."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def first(self) -> int | None:
        """The number of the first record, None if there is none."""
        return next((record[self.key] for _, record in self.forward(0)), None)

    def last(self) -> int | None:
        """The number of the last whole record, None if there is none."""
        return next((record[self.key] for _, record in self.backward(self.size)), None)

    def find(self, number: int) -> int:
        """The offset of the first record with this number or a larger one; else the size."""
        low, high = self._around(number)
        while low < high:
            middle = self._start((low + high) // 2)
            offset, found = next(self.forward(middle), (high, None))
            if found is None or offset >= high or found[self.key] >= number:
                high = middle  # before `offset` there is no record at all
            else:
                low = self._next(offset)
        offset, _ = next(self.forward(low), (self.size, None))
        return offset

    def _around(self, number: int) -> tuple[int, int]:
        """Beginnings of two lines between which the record lies, sought in growing steps from the
        end, where one mostly looks."""
        high = self.size
        step = BLOCK
        while high > 0:
            low = self._start(max(high - step, 0))
            offset, found = next(self.forward(low), (high, None))
            if found is not None and offset < high and found[self.key] < number:
                return low, high
            high = low
            step *= 2
        return 0, high

    def between(self, first: int, last: int) -> list[dict[str, Any]]:
        """The records with these numbers, both included."""
        found = []
        for _, record in self.forward(self.find(first)):
            if record[self.key] > last:
                break
            found.append(record)
        return found

    def forward(self, offset: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Records from the line that begins at an offset on, each with its own offset."""
        size = self.size
        while offset < size:
            end = self._find(b"\n", offset, size)
            if end < 0:
                return  # still being written
            record = self._record(self._read(offset, end))
            if record is not None:
                yield offset, record
            offset = end + 1

    def backward(self, offset: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Records that end before an offset, the nearest first."""
        end = self._rfind(b"\n", 0, offset)
        while end >= 0:
            start = self._rfind(b"\n", 0, end) + 1
            record = self._record(self._read(start, end))
            if record is not None:
                yield start, record
            end = start - 1

    def raw(self, offset: int, size: int) -> tuple[bytes, int]:
        """Whole lines of about `size` bytes from an offset on, and where the next ones begin."""
        end = self._rfind(b"\n", offset, min(offset + size, self.size))
        if end < 0:
            end = self._find(b"\n", offset, self.size)
        return (self._read(offset, end + 1, keep=False), end + 1) if end >= 0 else (b"", self.size)

    # -- bytes --------------------------------------------------------------------------------

    def _record(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        self.records_read += 1
        try:
            record = json_text.loads(line)
        except ValueError:
            return None
        if not isinstance(record, dict) or type(record.get(self.key)) is not int:
            return None
        return record if self._form is None else self._form(record)

    def _start(self, offset: int) -> int:
        """The beginning of the line that holds a byte."""
        return self._rfind(b"\n", 0, offset) + 1

    def _next(self, offset: int) -> int:
        end = self._find(b"\n", offset, self.size)
        return end + 1 if end >= 0 else self.size

    def _find(self, what: bytes, start: int, stop: int) -> int:
        while start < stop:
            block = start // BLOCK
            data = self._block(block)
            at = data.find(what, start - block * BLOCK, stop - block * BLOCK)
            if at >= 0:
                return block * BLOCK + at
            if len(data) < BLOCK:
                return -1
            start = (block + 1) * BLOCK
        return -1

    def _rfind(self, what: bytes, start: int, stop: int) -> int:
        while stop > start:
            block = (stop - 1) // BLOCK
            low = max(start - block * BLOCK, 0)
            at = self._block(block).rfind(what, low, stop - block * BLOCK)
            if at >= 0:
                return block * BLOCK + at
            stop = block * BLOCK
        return -1

    def _read(self, start: int, stop: int, *, keep: bool = True) -> bytes:
        if not keep:
            return self._fetch(start, stop - start)
        parts = []
        for block in range(start // BLOCK, (stop - 1) // BLOCK + 1 if stop > start else 0):
            base = block * BLOCK
            parts.append(self._block(block)[max(start - base, 0) : stop - base])
        return b"".join(parts)

    def _block(self, number: int) -> bytes:
        data = self._blocks.get(number)
        if data is not None and (len(data) == BLOCK or number * BLOCK + len(data) >= self.size):
            self._blocks.move_to_end(number)
            return data
        data = self._blocks[number] = self._fetch(number * BLOCK, BLOCK)
        self._blocks.move_to_end(number)
        if len(self._blocks) > KEPT:
            self._blocks.popitem(last=False)
        return data

    def _fetch(self, offset: int, length: int) -> bytes:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            data = os.pread(fd, length, offset)
        finally:
            os.close(fd)
        self.bytes_read += len(data)
        return data
