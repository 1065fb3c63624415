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
    """A version that is not read yet, and when it is to be (monotonic)."""

    stamp: files.Stamp
    until: float


def stronger(hand: str, other: str) -> str:
    """Of two hands that may be behind a change the one that weighs more."""
    return max(hand, other, key=("", "agent", "bank").index)


def tell(state: Path, stamp: files.Stamp, before: files.Stamp | None) -> None:
    """A session is about to put this version in place, of the one `before`.

    That one counts still, if it was a session's: somebody may be looking at it this moment.
    """
    lines = _told(state) & {_words(before)} if before is not None else set()
    with contextlib.suppress(OSError):
        files.write_file(state / NAME, b"".join([*lines, _words(stamp)]), sync=False)


def wrote(state: Path, stamp: files.Stamp) -> bool:
    """Whether a session wrote this version."""
    return _words(stamp) in _told(state)


def _told(state: Path) -> set[bytes]:
    try:
        return set(files.read_file(state / NAME, limit=400)[0].splitlines(keepends=True))
    except OSError:
        return set()


def _words(stamp: files.Stamp) -> bytes:
    return b"%d %d %d\n" % stamp
