"""CommandStream: a shell's output on its way to the terminal.

Takes the marks out, tells the session of each command, and holds the stream where a banner
belongs until the session has answered: after the mark C (before a command's output) and at
the mark A (above the prompt). It never holds longer than `HOLD` seconds and loses nothing.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pmem.terminal.capture import Capture
from pmem.terminal.link import Link
from pmem.terminal.marks import Mark, MarkParser
from pmem.terminal.modes import Modes

#: The longest the output waits for an answer, in seconds.
HOLD = 0.15
#: Held bytes past which no more is read; the program then waits, for `HOLD` at most.
MAX_HELD = 256 << 10
#: After so many answers that came too late nothing is held until one comes in time.
PATIENCE = 3
#: Commands and paths longer than this are cut for the session.
MAX_COMMAND = 64 << 10

_SEQUENCES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])"
)

Draw = Callable[[Mapping[str, Any]], bytes]


@dataclass(slots=True)
class _Held:
    """A place in the stream where a banner may go. `prompt`: it is above a prompt."""

    number: int
    until: float
    prompt: bool
    banner: Mapping[str, Any] | None = None
    answered: bool = False


@dataclass(slots=True)
class _Running:
    """The command whose output is passing."""

    command: str
    cwd: str
    private: bool
    started: float
    began: float
    capture: Capture


class CommandStream:
    """`feed` what the shell wrote, `take` what the terminal may show.

    `draw` renders a banner as it stands on the wire. `entered` is called with the number a mark
    C carried once that command may run; its second argument says that it is put back first.
    """

    def __init__(
        self,
        link: Link,
        nonce: str,
        draw: Draw,
        entered: Callable[[str, bool], None] | None = None,
    ) -> None:
        self._link = link
        self._parser = MarkParser(nonce)
        self._draw = draw
        self._let_run = entered
        self._queue: deque[bytes | _Held] = deque()
        self._held_bytes = 0
        self._open: dict[int, _Held] = {}
        self._late: list[Mapping[str, Any]] = []
        self._running: _Running | None = None
        self._sent: dict[int, float] = {}
        self._last_answer = 0
        self._count = 0
        self._missed = 0
        self._shell_pid = ""
        self._tail = b""
        self.modes = Modes()

    @property
    def full(self) -> bool:
        """Whether so much is held that nothing more should be read now."""
        return self._held_bytes > MAX_HELD

    @property
    def deadline(self) -> float | None:
        """When the stream must go on at the latest (time.monotonic), None if it is not held."""
        first = self._queue[0] if self._queue else None
        return first.until if isinstance(first, _Held) else None

    def feed(self, chunk: bytes) -> None:
        """Take what the shell and its programs wrote."""
        for piece in self._parser.feed(chunk):
            if isinstance(piece, Mark):
                self._mark(piece)
                continue
            self.modes.feed(piece)
            if self._running is not None and not self._running.private:
                self._running.capture.feed(piece)
            self._queue.append(piece)
            self._held_bytes += len(piece)

    def finish(self) -> None:
        """The stream ended: nothing is held any more."""
        rest = self._parser.rest()
        if rest:
            self._queue.append(rest)
        for held in self._open.values():
            held.until = 0.0

    def receive(self, message: Mapping[str, Any]) -> None:
        """Take an `answer` of the session."""
        number = message.get("n")
        if not isinstance(number, int):
            return
        self._last_answer = max(self._last_answer, number)
        sent = self._sent.pop(number, 0.0)
        if time.monotonic() - sent < HOLD:
            self._missed = 0
        banner = message.get("banner")
        held = self._open.pop(number, None)
        if held is not None:
            held.answered = True
            held.banner = banner
        elif isinstance(banner, Mapping):
            self._late.append(banner)

    def take(self) -> bytes:
        """What may be shown now, with the banners in their places."""
        queue = self._queue
        if len(queue) == 1 and isinstance(queue[0], bytes):
            # The everyday case: one chunk, nothing held.
            out = queue.popleft()
            assert isinstance(out, bytes)
            self._held_bytes = 0
            self._tail = out[-256:] if len(out) >= 256 else (self._tail + out)[-256:]
            return out
        parts: list[bytes] = []
        while queue:
            item = queue[0]
            if isinstance(item, bytes):
                self._held_bytes -= len(item)
                parts.append(item)
                self._tail = (self._tail + item)[-256:]
            else:
                if not item.answered and self._link.alive and time.monotonic() < item.until:
                    break
                parts.append(self._at(item))
            queue.popleft()
        return b"".join(parts)

    def _at(self, held: _Held) -> bytes:
        if not held.answered and self._open.pop(held.number, None) is not None:
            self._missed += 1
        banners = []
        if held.prompt:
            banners, self._late = self._late, []
        if held.banner is not None:
            banners.append(held.banner)
        if not banners or self.modes.full_screen:
            self._late = banners + self._late if banners else self._late
            return b""
        drawn = b"".join(self._draw(banner) for banner in banners)
        if drawn and not self._at_line_start():
            drawn = b"\r\n" + drawn
        self._tail = b"\n"
        return drawn

    def _at_line_start(self) -> bool:
        visible = _SEQUENCES.sub(b"", self._tail)
        return not visible or visible[-1:] in (b"\n", b"\r")

    def _mark(self, mark: Mark) -> None:
        if mark.kind == "I":
            self._shell_pid = mark.pid
            return
        if self._shell_pid and mark.pid != self._shell_pid:
            return
        match mark.kind:
            case "C" | "P":
                self._started(mark)
            case "D":
                self._ended(mark)
            case "A":
                self._prompt()

    def _started(self, mark: Mark) -> None:
        if self._running is not None:  # a pasted line: the one before it told no end
            self._tell_finished(self._running, None)
        private = mark.kind == "P"
        command = "" if private else mark.field(2)[:MAX_COMMAND]
        self._running = _Running(
            command, mark.field(1), private, time.time(), time.monotonic(), Capture()
        )
        number = self._next()
        told = self._link.send(
            {
                "type": "entered",
                "n": number,
                "command": command,
                "cwd": mark.field(1),
                "private": private,
            }
        )
        if told and not private:
            self._hold(number, prompt=False)

    def _ended(self, mark: Mark) -> None:
        running, self._running = self._running, None
        if running is None:
            # No mark C: a command the shell told nothing of, so nothing is kept of it either.
            running = _Running("", mark.field(1), True, time.time(), time.monotonic(), Capture())
        code = mark.field(0)
        self._tell_finished(running, int(code) if code.isdecimal() else None)

    def _tell_finished(self, running: _Running, exit_code: int | None) -> None:
        self._link.send(
            {
                "type": "finished",
                "n": self._next(),
                "command": running.command,
                "cwd": running.cwd,
                "exit_code": exit_code,
                "started": running.started,
                "seconds": round(time.monotonic() - running.began, 3),
                "output": "" if running.private else running.capture.text(),
                "private": running.private,
            }
        )

    def _prompt(self) -> None:
        if self._count > self._last_answer or self._late:
            self._hold(self._count, prompt=True)

    def _hold(self, number: int, prompt: bool) -> None:
        patient = self._missed < PATIENCE and self._link.alive
        held = _Held(number, time.monotonic() + HOLD if patient else 0.0, prompt)
        held.answered = number <= self._last_answer
        if not held.answered:
            self._open[number] = held
        self._queue.append(held)

    def _next(self) -> int:
        self._count += 1
        self._sent[self._count] = time.monotonic()
        self._sent.pop(self._count - 64, None)
        return self._count
