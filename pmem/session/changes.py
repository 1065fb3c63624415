"""Did a file of the project change since a given time? Looked up on disk, bounded in time.

People edit in another window, so the recorded steps alone cannot say that nothing changed.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Container
from pathlib import Path

from pmem.core.data import table
from pmem.core.moment import Changed

#: Names that builds, tests and tools write by themselves: their change proves nothing.
BY_PRODUCTS = frozenset(table("folding")["by_products"])
BY_PRODUCT_SUFFIXES = tuple(table("folding")["by_product_suffixes"])


def changed_since(
    root: Path,
    since: float,
    *,
    but: Container[tuple[int, int]] = (),
    limit_seconds: float = 0.05,
    clock: Callable[[], float] = time.monotonic,
) -> Changed:
    """Look for a file below `root` whose change time is after `since` (Unix seconds).

    Looks for at most `limit_seconds`, nearest directories first; UNKNOWN if it ran out of
    time. Both mtime and ctime count, so that a file moved into place or restored with its
    old mtime is seen; links are not followed. Files in `but`, by device and inode, do not count:
    what the agent prints is no change of the project.
    """
    stop = clock() + limit_seconds
    pending = deque([os.fspath(root)])
    while pending:
        directory = pending.popleft()
        try:
            if directory != os.fspath(root) and _changed(Path(directory).stat(), since):
                return Changed.YES
            with os.scandir(directory) as items:
                for item in items:
                    if item.name in BY_PRODUCTS or item.name.endswith(BY_PRODUCT_SUFFIXES):
                        continue
                    if item.is_dir(follow_symlinks=False):
                        pending.append(item.path)
                        continue
                    found = item.stat(follow_symlinks=False)
                    if _changed(found, since) and (found.st_dev, found.st_ino) not in but:
                        return Changed.YES
        except OSError:
            continue
        if clock() > stop:
            return Changed.UNKNOWN
    return Changed.NO


def _changed(found: os.stat_result, since: float) -> bool:
    return found.st_mtime > since or found.st_ctime > since
