"""Poller: wait for descriptors, also past 1,024 of them."""

from __future__ import annotations

import contextlib
import select
import sys

READ, WRITE = 1, 2
_IN, _OUT = getattr(select, "POLLIN", 1), getattr(select, "POLLOUT", 4)
_BROKEN = sum(getattr(select, name, 0) for name in ("POLLERR", "POLLHUP", "POLLNVAL"))


class Poller:
    """Which descriptors to wait for, and the waiting."""

    def __init__(self) -> None:
        self._wanted: dict[int, int] = {}
        # macOS polls terminals rightly only with select, which has no room past 1,024.
        self._poll = select.poll() if hasattr(select, "poll") else None
        self._prefers_select = sys.platform == "darwin" or self._poll is None

    def want(self, fd: int, events: int) -> None:
        """Wait for these events (READ | WRITE) of `fd`; 0 forgets it."""
        if self._wanted.get(fd, 0) == events:
            return
        if self._poll is not None:
            if events:
                self._poll.register(
                    fd, (_IN if events & READ else 0) | (_OUT if events & WRITE else 0)
                )
            else:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(fd)
        if events:
            self._wanted[fd] = events
        else:
            self._wanted.pop(fd, None)

    def wait(self, seconds: float | None) -> dict[int, int]:
        """What is ready (READ | WRITE by descriptor) within so many seconds, None for ever.

        A descriptor that hung up or broke counts as ready for what was wanted of it.
        """
        if self._prefers_select and (self._poll is None or max(self._wanted, default=0) < 1024):
            return self._select(seconds)
        assert self._poll is not None
        timeout = None if seconds is None else max(0, int(seconds * 1000 + 0.999))
        ready: dict[int, int] = {}
        for fd, event in self._poll.poll(timeout):
            if event == _IN:
                ready[fd] = READ
            elif event & _BROKEN:
                ready[fd] = self._wanted[fd]
            else:
                ready[fd] = (READ if event & _IN else 0) | (WRITE if event & _OUT else 0)
        return ready

    def _select(self, seconds: float | None) -> dict[int, int]:
        reads = [fd for fd, events in self._wanted.items() if events & READ]
        writes = [fd for fd, events in self._wanted.items() if events & WRITE]
        readable, writable, _ = select.select(reads, writes, [], seconds)
        ready = dict.fromkeys(readable, READ)
        for fd in writable:
            ready[fd] = ready.get(fd, 0) | WRITE
        return ready
