"""What the scripted agent shows on its terminal: words that appear as if typed, and banners."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from pmem.terminal.banner import render_banner, wants_colour
from pmem.terminal.cells import width, wrap

#: Seconds a character takes to appear at speed 1.
TYPING = 0.014
#: Lines are no longer than this, however wide the terminal.
MAX_COLUMNS = 92


class Screen:
    """Prints to a stream, wrapped to the terminal.

    `speed` 2 is twice as fast as made to be watched, 0 waits for nothing.
    """

    def __init__(
        self,
        out: TextIO,
        env: Mapping[str, str],
        speed: float = 1.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.out = out
        self.speed = speed
        self.sleep = sleep
        self.colour = wants_colour(env)
        self.columns = min(_columns(out), MAX_COLUMNS)

    def pause(self, seconds: float) -> None:
        """Let the viewer read."""
        self.out.flush()
        if self.speed > 0:
            self.sleep(seconds / self.speed)

    def line(self, text: str = "", style: str = "", indent: str = "") -> None:
        """One paragraph, at once."""
        for part in wrap(text, self.columns - width(indent)):
            self.out.write(self._paint(indent + part, style).rstrip() + "\n")
        self.out.flush()

    def typed(self, text: str, mark: str, style: str = "") -> None:
        """A paragraph under a mark, one character after the other."""
        on, off = (f"\x1b[{style}m", "\x1b[0m") if style and self.colour else ("", "")
        lead = mark
        for part in wrap(text, self.columns - width(mark)):
            self.out.write(on + lead)
            for char in part:
                self.out.write(char)
                self.pause(TYPING)
            self.out.write(off + "\n")
            lead = " " * width(mark)
        self.out.flush()

    def output(self, text: str) -> None:
        """What a command printed, set in; lines are cut to the screen by wrapping."""
        for line in text.rstrip("\n").split("\n") if text.strip() else ():
            indent = line[: len(line) - len(line.lstrip(" "))]
            for part in wrap(line.strip(), max(self.columns - 4 - len(indent), 8)):
                self.out.write("  " + self._paint(f"│ {indent}{part}".rstrip(), "2") + "\n")
        self.out.flush()

    def banner(self, text: str, citations: list[Mapping[str, Any]]) -> None:
        """A reminder, as a person in a shell sees it too."""
        drawn = render_banner({"text": text, "citations": citations}, self.columns, self.colour)
        self.out.write(drawn.replace("\r\n", "\n"))
        self.out.flush()

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if style and text and self.colour else text


def _columns(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
