"""The loop that passes the bytes on, both ways, with signals, size and the end of the program."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pmem.terminal.drain import Drain
from pmem.terminal.inlet import Inlet
from pmem.terminal.modes import Modes
from pmem.terminal.outlet import Outlet, Recorder
from pmem.terminal.poller import READ, WRITE
from pmem.terminal.sides import Sides
from pmem.terminal.signals import Signals
from pmem.terminal.tty import Terminal

if TYPE_CHECKING:
    from pmem.terminal.child import Child
    from pmem.terminal.link import Link
    from pmem.terminal.stream import ShellStream
    from pmem.terminal.tmux_status import TmuxStatus

#: One read of so much, written on at once, keeps keys quick and is as fast as larger ones.
CHUNK = 4096
#: While output comes in full chunks so many are passed on between two polls.
BURST = 8
#: How long the output of a program that stops is passed on, in seconds.
STOP_PATIENCE = 0.2
#: How long a program may take to end after its terminal was closed, in seconds.
HANGUP_PATIENCE = 1.0

_FORWARDED = ("TERM", "INT", "QUIT", "USR1", "USR2")


class Relay:
    """The loop between a terminal and a child in its pty."""

    def __init__(
        self,
        terminal: Terminal,
        signals: Signals,
        child: Child,
        link: Link | None = None,
        recorder: Recorder | None = None,
        beside: Callable[[Mapping[str, Any]], bytes] | None = None,
    ) -> None:
        self._terminal = terminal
        self._signals = signals
        self._child = child
        self._link = link
        self._beside = beside
        self._stream: ShellStream | None = None
        self._status: TmuxStatus | None = None
        self._modes = Modes()
        self._sides = Sides(terminal, signals, child, link)
        self._outlet = Outlet(terminal, recorder)
        self._inlet = Inlet(terminal, child)
        self._output_ended = False
        self._drain: Drain | None = None
        self._hung_up = 0.0

    def watch_commands(self, link: Link, nonce: str, patience: float = 0.0) -> None:
        """Read the marks of a shell that knows `nonce` and put banners into its output."""
        from pmem.terminal.stream import ShellStream
        from pmem.terminal.tmux_status import TmuxStatus

        self._status = TmuxStatus(os.environ)
        self._stream = ShellStream(link, nonce, self._draw, patience, self._tell)
        self._modes = self._stream.modes

    def run(self) -> int:
        """Relay until the program has ended and all it wrote is out; its exit code."""
        terminal, child = self._terminal, self._child
        inlet, outlet = self._inlet, self._outlet
        terminal.enter_raw()
        self._resize()  # it may have changed while the program started
        while (self._drain is None and not self._hung_up) or not self._finished():
            reads_last = None if self._drain is None or not self._has_room() else self._drain
            ready = self._sides.wait(
                self._has_room(),
                bool(inlet.untaken),
                inlet.takes,
                bool(outlet.unsent),
                self._patience(),
            )
            if self._signals.fd in ready or self._signals.pending:
                self._on_signals()  # first: what is typed after a signal does not overtake it
            if self._sides.link_fd in ready:
                self._on_link()
            if child.master is not None and child.master in ready:
                events = ready[child.master]
                if events & WRITE:
                    self._inlet.feed()
                if events & READ:
                    self._pass_output()
            elif reads_last is not None:
                reads_last.ran_dry()
            if inlet.open and ready.get(terminal.input, 0) & READ:
                self._on_input()
            self._show()
        return child.exit_code

    def leave(self) -> None:
        """Put the terminal back: what the program left on when it failed, then the settings."""
        if self._child.exit_code != 0 and not self._hung_up:
            off = self._modes.switch_off()
            if off:
                with contextlib.suppress(OSError):
                    self._terminal.write(off)
        self._terminal.leave_raw()
        if self._status is not None:
            self._status.close()

    def _patience(self) -> float | None:
        stream = self._stream
        if self._drain is None and not self._hung_up and (stream is None or not stream.holds):
            return None
        due = []
        if self._drain is not None and not self._output_ended:
            due.append(self._drain.until)
        if stream is not None and stream.deadline is not None:
            due.append(stream.deadline)
        if self._hung_up and not self._child.ended:
            due.append(self._hung_up + HANGUP_PATIENCE)
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _has_room(self) -> bool:
        held = self._stream is not None and self._stream.full
        return self._outlet.has_room and not held

    def _finished(self) -> bool:
        if self._hung_up:
            late = time.monotonic() >= self._hung_up + HANGUP_PATIENCE
            return late or self._child.ended
        if self._drain is None:
            return False
        if not self._output_ended and self._drain.due:
            self._end_drain(self._drain)
        held = self._stream is not None and self._stream.deadline is not None
        return self._output_ended and not self._outlet.unsent and not held

    def _end_drain(self, drain: Drain) -> None:
        if not self._has_room():
            drain.wait()
        # On a busy machine the time can be over before everything was read.
        elif drain.complete or self._read_output() == 0:
            self._end_output()
        self._show()

    def _pass_output(self) -> None:
        for _ in range(BURST):
            size = self._read_output()
            self._show()
            if size < CHUNK // 2 or self._outlet.unsent:
                break

    def _read_output(self) -> int:
        """Take one chunk of what the program wrote; its size."""
        chunk = self._child.read(CHUNK)
        if chunk is None:
            return 0
        if not chunk:
            self._end_output()
            return 0
        if self._drain is not None:
            self._drain.took(len(chunk))
        if self._stream is None:
            self._modes.feed(chunk)
            self._write(chunk)
        elif self._stream.goes_straight(chunk):
            self._write(chunk)
        else:
            self._stream.feed(chunk)
            self._take_typed(self._stream)
        return len(chunk)

    def _end_output(self) -> None:
        """No more output will come, or is waited for."""
        self._output_ended = True
        self._sides.ignore_child()
        if self._stream is not None:
            self._stream.finish()
        self._check_child()

    def _on_input(self) -> None:
        data = self._inlet.read(CHUNK)
        if data is None:
            return
        if self._signals.came():
            self._on_signals()  # it came while others were looked after, and before these keys
        if data and self._stream is not None and self._stream.question is not None:
            self._stream.typed(data)
            self._take_typed(self._stream)
            self._inlet.feed()
        elif data:
            self._inlet.put(data)
        elif self._terminal.gone:
            self._hang_up()
        else:
            self._inlet.end()
            self._inlet.feed()

    def _take_typed(self, stream: ShellStream) -> None:
        if stream.to_shell:
            self._inlet.untaken += stream.to_shell
            stream.to_shell.clear()

    def _show(self) -> None:
        """Pass on what may be shown now."""
        shown = self._stream.take() if self._stream is not None else b""
        if shown or self._outlet.unsent:
            self._write(shown)
        if self._stream is not None and self._stream.tells_when_shown and not self._outlet.unsent:
            self._stream.shown()

    def _write(self, data: bytes) -> None:
        try:
            self._outlet.write(data)
        except OSError:
            self._hang_up()

    def _on_link(self) -> None:
        assert self._link is not None
        self._link.flush()
        for message in self._link.receive():
            if message.get("type") == "answer" and self._stream is not None:
                self._stream.receive(message)
            elif self._beside is not None:
                self._outlet.notice += self._beside(message)

    def _on_signals(self) -> None:
        found = self._signals.take()
        if signal.SIGHUP in found:
            self._on_hangup()
        for name in _FORWARDED:
            number = getattr(signal, f"SIG{name}")
            if number in found:
                self._child.signal(number)
        if signal.SIGTSTP in found:
            self._child.signal(signal.SIGTSTP)
            self._suspend()
        if signal.SIGCONT in found:
            self._resume()
        if signal.SIGWINCH in found:
            self._resize()
        if signal.SIGCHLD in found:
            self._check_child()

    def _check_child(self) -> None:
        if self._child.ended:
            return
        if self._child.check():
            self._catch_up()
            self._suspend()
        elif self._child.ended:
            self._drain = Drain()
            self._inlet.open = False

    def _catch_up(self) -> None:
        """Show what the program wrote before it stopped: it may have left its screen."""
        deadline = time.monotonic() + STOP_PATIENCE
        while (self._read_output() or self._outlet.unsent) and time.monotonic() < deadline:
            self._show()
            if self._outlet.unsent:
                self._terminal.wait_writable(STOP_PATIENCE)

    def _suspend(self) -> None:
        """The program stopped, so pmem stops with its job; `fg` lets both go on.

        Where no shell could ever resume it (an orphaned process group) the kernel ignores
        SIGTSTP, and the program goes on at once.
        """
        self._terminal.leave_raw()
        self._signals.stop_here()
        self._resume()

    def _resume(self) -> None:
        self._terminal.remember()
        self._terminal.enter_raw()
        self._resize()
        self._child.signal(signal.SIGCONT)

    def _resize(self) -> None:
        size = self._terminal.size
        self._child.resize(size)
        self._outlet.resize(size)

    def _on_hangup(self) -> None:
        if self._terminal.gone:
            self._hang_up()
        else:
            self._child.signal(signal.SIGHUP)

    def _hang_up(self) -> None:
        """The terminal is gone: so is the program's."""
        if self._hung_up:
            return
        self._hung_up = time.monotonic()
        self._inlet.open = False
        self._outlet.shut()
        self._sides.ignore_all()
        self._output_ended = True
        self._child.hang_up()

    def _tell(self, banner: Mapping[str, Any], hidden: bool) -> None:
        """Tell of a banner where it does not stand on the screen itself."""
        if self._status is not None and self._status.works:
            self._status.tell(banner, hidden)
        elif hidden and self._beside is not None:
            self._outlet.notice += self._beside({"type": "banner", "banner": banner})

    def _draw(self, banner: Mapping[str, Any]) -> bytes:
        from pmem.terminal.banner import encode_banner

        return encode_banner(banner, self._terminal.size.columns, os.environ)
