"""ShellStream: a shell's output on its way to the terminal.

Takes the marks out and holds the stream where a banner belongs until the session has answered:
after the mark C (before a command's output) and at the mark A (above the prompt). It never
holds longer than `HOLD` seconds and loses nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pmem.terminal.commands import Commands
from pmem.terminal.gate import IN_TIME, SURE, Gate, Question
from pmem.terminal.last_line import LastLine
from pmem.terminal.link import Link
from pmem.terminal.marks import Mark, MarkParser
from pmem.terminal.modes import Modes

#: The longest the output waits for an answer, in seconds.
HOLD = 0.15
#: Held bytes past which no more is read; the program then waits, for `HOLD` at most.
MAX_HELD = 256 << 10
#: After so many answers that came too late nothing is held until one comes in time.
PATIENCE = 3

Banner = Mapping[str, Any]


@dataclass(slots=True)
class _Held:
    """A place in the stream where a banner may go: above a prompt, or before an output.

    `waits` is the number by which the shell waits at the gate until `in_time`.
    """

    number: int
    until: float
    prompt: bool
    waits: str = ""
    in_time: float = 0.0
    answered: bool = False
    banner: Banner | None = None


class ShellStream:
    """`feed` what the shell wrote, `take` what the terminal may show, tell when it is `shown`.

    `draw` renders a banner as it stands on the wire. While `question` is set, what is typed
    goes to `typed`; `to_shell` collects what the shell gets of it. `patience` is how many seconds
    an answer may take at the most, where that is more than `HOLD`. `tell` hears of each banner as
    it comes, and whether a full-screen program hides it for now.
    """

    def __init__(
        self,
        link: Link,
        nonce: str,
        draw: Callable[[Banner], bytes],
        patience: float = 0.0,
        tell: Callable[[Banner, bool], None] = lambda banner, hidden: None,
    ) -> None:
        self._link = link
        self._patience = patience
        self._tell = tell
        self._parser = MarkParser(nonce)
        self._draw = draw
        self._commands = Commands(link)
        self._queue: deque[bytes | _Held] = deque()
        self._held_bytes = 0
        self._late: list[Banner] = []
        self._missed = 0
        self._prohibits = True  # until the session says otherwise
        self._asked = 0
        self._shell_pid = ""
        self._gate: Gate | None = None
        self._when_shown: list[Callable[[], None]] = []
        self._last = LastLine()
        self._dropped = False
        self.question: Question | None = None
        self.to_shell = bytearray()
        self.modes = Modes()

    @property
    def full(self) -> bool:
        """Whether so much is held that nothing more should be read now."""
        return self._held_bytes > MAX_HELD

    @property
    def holds(self) -> bool:
        """Whether anything waits to be shown."""
        return bool(self._queue)

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
            self._commands.output(piece)
            self._queue.append(piece)
            self._held_bytes += len(piece)

    def goes_straight(self, chunk: bytes) -> bool:
        """Take a chunk that may be shown as it is, at once: the everyday case, made quick."""
        if self._queue or b"\x1b" in chunk or not self._parser.between_marks:
            return False
        self.modes.feed(chunk)
        self._commands.output(chunk)
        self._last.shown(chunk)
        return True

    def finish(self) -> None:
        """The stream ended: nothing is held any more."""
        rest = self._parser.rest()
        if rest:
            self._queue.append(rest)
        for held in self._places():
            held.until = 0.0
        if self._gate is not None:
            self._gate.close()

    def receive(self, message: Mapping[str, Any]) -> None:
        """Take an `answer` of the session."""
        seconds = self._commands.answered(message)
        if seconds is None:
            return
        if seconds < HOLD:
            self._missed = 0
        self._prohibits = bool(message.get("prohibits", self._prohibits))
        banner = message.get("banner")
        banner = banner if isinstance(banner, Mapping) else None
        if banner is not None:
            self._tell(banner, self.modes.full_screen)
        for held in self._places():
            if held.number == message["n"] and not held.answered:
                held.answered = True
                held.banner, banner = banner, None
                self._answer_gate(held)
        if banner is not None:
            self._late.append(self._not_held(message["n"], banner))

    def take(self) -> bytes:
        """What may be shown now, with the banners in their places."""
        queue = self._queue
        if not queue:
            return b""
        parts: list[bytes] = []
        while queue:
            item = queue[0]
            if isinstance(item, bytes):
                self._held_bytes -= len(item)
                parts.append(item)
                self._last.shown(item)
            else:
                if not item.answered and self._link.alive and time.monotonic() < item.until:
                    break
                parts.append(self._at(item))
            queue.popleft()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def tells_when_shown(self) -> bool:
        """Whether `shown` is waited for."""
        return bool(self._when_shown)

    def shown(self) -> None:
        """All that was taken stands on the screen."""
        while self._when_shown:
            self._when_shown.pop(0)()

    def typed(self, keys: bytes) -> None:
        """Give keys to the question."""
        assert self.question is not None
        decision = self.question.take(keys)
        if decision is None:
            return
        if decision and self._gate is not None:
            self._commands.starts()
            self._gate.run(self.question.number)
        self._dropped = not decision
        self._commands.tell_held(self._asked, True)
        self._end_question()

    def _mark(self, mark: Mark) -> None:
        if mark.kind == "I":
            self._shell_pid = mark.pid
            if mark.field(0):
                self._gate = Gate(mark.field(0))
            return
        if self._shell_pid and mark.pid != self._shell_pid:
            return
        if mark.kind == "R":
            self._runs_unasked(mark.field(0))
            return
        if self.question is not None:
            self._commands.tell_held(self._asked, True)  # dropped from elsewhere
            self._end_question()
        match mark.kind:
            case "C" | "P":
                self._entered(mark)
            case "D":
                self._commands.ended(mark, dropped=self._dropped)
                self._dropped = False
            case "A":
                self._commands.prompted(dropped=self._dropped)
                self._dropped = False
                if self._late or not self._commands.is_answered(self._commands.newest):
                    self._hold(prompt=True)

    def _entered(self, mark: Mark) -> None:
        gate = self._gate if self._gate is not None and self._gate.stands else None
        self._dropped = False
        wait = self._commands.entered(mark, can_hold=gate is not None and mark.kind == "C")
        if wait:
            held = self._hold(prompt=False)
            if gate is not None:
                wait_for = self._wait_for()
                held.waits, held.in_time = mark.field(0), time.monotonic() + wait_for
                if wait_for > IN_TIME:
                    held.until = max(held.until, held.in_time)
                    gate.hold(held.waits)  # longer than a shell waits by itself
        if gate is not None and (not wait or self._missed >= PATIENCE):
            gate.run(mark.field(0))

    def _wait_for(self) -> float:
        """How long the answer to a command may take that waits at the gate, in seconds."""
        patience = self._patience if self._missed < PATIENCE else 0.0
        return max(IN_TIME, patience, SURE if self._prohibits and not self._missed else 0.0)

    def _runs_unasked(self, waits: str) -> None:
        """The shell did not wait for the answer about this command."""
        for held in self._places():
            if held.waits == waits:
                held.in_time, held.until = 0.0, min(held.until, time.monotonic() + HOLD)
        if self.question is not None and self.question.number == waits:
            self._commands.tell_held(self._asked, False)
            self._end_question()

    def _not_held(self, number: int, banner: Banner) -> Banner:
        """The banner as it is drawn where the command runs already."""
        if banner.get("held"):
            self._commands.tell_held(number, False)
        return {**banner, "held": False}

    def _hold(self, *, prompt: bool) -> _Held:
        """Put a place for a banner here, to wait for the answer to the newest message."""
        number = self._commands.newest
        patient = self._missed < PATIENCE and self._link.alive
        longest = max(HOLD, self._patience)
        held = _Held(number, time.monotonic() + longest if patient else 0.0, prompt)
        held.answered = self._commands.is_answered(number)
        self._queue.append(held)
        return held

    def _answer_gate(self, held: _Held) -> None:
        """Let a waiting command run, or, if there is a banner, not before that is seen."""
        if held.banner is not None and time.monotonic() > held.in_time:
            held.banner = self._not_held(held.number, held.banner)  # it runs already
        if not held.waits or self._gate is None:
            return
        if held.banner is None:
            self._gate.run(held.waits)
            return
        self._gate.hold(held.waits)  # at once: drawing may take longer than the shell waits
        for earlier in self._places():  # nothing before it may keep it from the screen
            earlier.until = 0.0

    def _places(self) -> list[_Held]:
        return [item for item in self._queue if isinstance(item, _Held)]

    def _at(self, held: _Held) -> bytes:
        """What to show at this place."""
        if not held.answered:
            self._missed += 1
            if held.waits and self._gate is not None:
                self._gate.run(held.waits)
        banners = [] if held.banner is None else [held.banner]
        if held.prompt:
            banners = self._late + banners
            self._late = []
        if banners and self.modes.full_screen:
            if held.banner is not None:
                held.banner = banners[-1] = self._not_held(held.number, held.banner)
            self._late = banners
            self._let_through(held)
            return b""
        if held.waits and banners:
            self._when_shown.append(lambda: self._let_through(held))
        drawn = b"".join(self._draw(banner) for banner in banners)
        if drawn and not self._last.is_empty:
            drawn = b"\r\n" + drawn
        self._last.shown(drawn)
        return drawn

    def _let_through(self, held: _Held) -> None:
        """The banner of a waiting command is seen: run it, or ask the person."""
        if held.banner is not None and held.banner.get("held"):
            self.question, self._asked = Question(held.waits), held.number
        elif self._gate is not None and held.waits:
            self._gate.run(held.waits)

    def _end_question(self) -> None:
        assert self.question is not None
        self.to_shell += self.question.kept
        self.question = None
