"""QuietFile: a person's `pmem mute` and `pmem wrong`, kept for this and for later sessions.

`quiet.jsonl` in the project's state directory, append-only; a running session looks at it
before it speaks.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from pmem.core.quiet import Quiet, read
from pmem.store import files, jsonl

NAME = "quiet.jsonl"


class QuietFile:
    """The wishes of one project, read again when they changed."""

    def __init__(self, state: Path) -> None:
        self.path = state / NAME
        self._stamp: files.Stamp | None = None
        self._quiet = Quiet()

    def read(self) -> Quiet:
        """What is not wanted now; what was read last where the file cannot be read."""
        with contextlib.suppress(OSError):
            stamp = files.stamp(self.path)
            if stamp != self._stamp:
                self._quiet = read(jsonl.Lines(self.path))
                self._stamp = stamp
        return self._quiet

    def set(self, kind: str, name: str, *, wanted: bool = False) -> None:
        """Mute an `entry`, a `session` or a `cause`; `wanted` takes that back.

        Raises OSError if it cannot be written.
        """
        files.private_dir(self.path.parent)
        fd = files.open_append(self.path)
        try:
            what = {"unmute" if wanted else "mute": kind, "name": name, "time": round(time.time())}
            jsonl.append(fd, jsonl.encode(what))
        finally:
            os.close(fd)
