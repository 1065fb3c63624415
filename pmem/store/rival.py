"""Whose version of bank.toml it is: that of another session waits until nobody waits for us.

What a person or a command writes is read before the next answer. Sessions on one bank write it
again and again, and reading it takes longer than answering.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

from pmem.store import files

#: In the project's state directory: the stamp of the version that a session wrote last.
NAME = "bank.written"


class Behind(NamedTuple):
    """A version that is not read yet: since when (monotonic), and whose hand may be behind it."""

    stamp: files.Stamp
    since: float
    hand: str

    def seen_by(self, hand: str) -> Behind:
        """The same, with whose hand was at work at any time meanwhile; `bank` weighs most."""
        return self._replace(hand=max(self.hand, hand, key=("", "agent", "bank").index))


def tell(state: Path, stamp: files.Stamp) -> None:
    """A session is about to put this version in place."""
    with contextlib.suppress(OSError):
        files.write_file(state / NAME, _words(stamp), sync=False)


def wrote(state: Path, stamp: files.Stamp) -> bool:
    """Whether a session wrote this version."""
    try:
        return files.read_file(state / NAME, limit=200)[0] == _words(stamp)
    except OSError:
        return False


def _words(stamp: files.Stamp) -> bytes:
    return b"%d %d %d\n" % stamp
