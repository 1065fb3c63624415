"""Sides: the descriptors that the relay waits for, and what it waits for at each."""

from __future__ import annotations

from typing import NamedTuple

from pmem.terminal.child import Child
from pmem.terminal.link import Link
from pmem.terminal.poller import READ, WRITE, Poller
from pmem.terminal.signals import Signals
from pmem.terminal.tty import Terminal


class Asks(NamedTuple):
    """What is waited for: output of the program (there is `room`), that it takes input (`feeds`),
    keys (`types`), that the terminal takes output (`shows`), and the link (READ | WRITE).
    """

    room: bool
    feeds: bool
    types: bool
    shows: bool
    link: int


class Sides:
    """The terminal, the child, the signals and the link of one relay, to be waited for at once."""

    def __init__(
        self, terminal: Terminal, signals: Signals, child: Child, link: Link | None
    ) -> None:
        self._terminal = terminal
        self._signals = signals
        self._child = child
        self._link = link
        self.link_fd = -1 if link is None else link.fileno()
        self._poller = Poller()
        self._asks: Asks | None = None
        self._hears_child = True

    def wait(
        self, room: bool, feeds: bool, types: bool, shows: bool, seconds: float | None
    ) -> dict[int, int]:
        """What is ready (READ | WRITE by descriptor) within so many seconds, None for ever."""
        link = self._link
        events = 0 if link is None or link.lost else READ | WRITE if link.wants_write else READ
        asks = (room, feeds, types, shows, events)
        if asks != self._asks:
            self._asks = Asks(*asks)
            self._ask(self._asks)
        return self._poller.wait(seconds)

    def ignore_child(self) -> None:
        """The program has nothing more to say."""
        self._hears_child = False
        if self._child.master is not None:
            self._poller.want(self._child.master, 0)

    def ignore_all(self) -> None:
        """Forget the terminal and the program."""
        self.ignore_child()
        for fd in (self._terminal.input, self._terminal.output):
            self._poller.want(fd, 0)

    def _ask(self, asks: Asks) -> None:
        terminal, child, want = self._terminal, self._child, self._poller.want
        want(self._signals.fd, READ)
        if child.master is not None and self._hears_child:
            want(child.master, (READ if asks.room else 0) | (WRITE if asks.feeds else 0))
        keys, screen = READ if asks.types else 0, WRITE if asks.shows else 0
        if terminal.input == terminal.output:
            want(terminal.input, keys | screen)
        else:
            want(terminal.input, keys)
            want(terminal.output, screen)
        if self.link_fd >= 0:
            want(self.link_fd, asks.link)
            if not asks.link:  # it is off, and its descriptor closed
                self.link_fd = -1
