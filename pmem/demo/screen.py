"""What the scripted agent shows on its terminal: words that appear as if typed, and boxes."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TextIO

from wcwidth import wcwidth

#: Seconds a character of a thought takes at speed 1.
TYPING = 0.012
MAX_COLUMNS = 88


class Screen:
    """Prints to a stream, wrapped to its width. `speed` 2 is twice as fast, 0 waits for nothing."""

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
        self.colour = not env.get("NO_COLOR") and env.get("TERM") != "dumb"
        self.columns = min(shutil.get_terminal_size().columns or 80, MAX_COLUMNS)

    def pause(self, seconds: float) -> None:
        """Let the viewer read."""
        self.out.flush()
        if self.speed > 0:
            self.sleep(seconds / self.speed)

    def line(self, text: str = "", style: str = "") -> None:
        """One logical line, wrapped."""
        for part in wrap(text, self.columns) or [""]:
            self.out.write(self.paint(part, style) + "\n")
        self.out.flush()

    def typed(self, text: str, style: str = "", first: str = "", rest: str = "") -> None:
        """Words that appear one character after the other, under a mark."""
        room = self.columns - width(first)
        for n, part in enumerate(wrap(text, room)):
            before, after = self.paint("\0", style).split("\0") if style else ("", "")
            self.out.write(before + (first if n == 0 else rest))
            for char in part:
                self.out.write(char)
                self.pause(TYPING)
            self.out.write(after + "\n")
        self.out.flush()

    def output(self, text: str) -> None:
        """What a command printed, set in."""
        for line in text.splitlines():
            for part in wrap(line, self.columns - 4) or [""]:
                self.out.write("  " + self.paint(f"│ {part}", "2") + "\n")
        self.out.flush()

    def box(self, lines: Iterable[str], style: str) -> None:
        """Lines in a border, by display width."""
        room = self.columns - 4
        parts = [part for line in lines for part in wrap(line, room) or [""]]
        across = max((width(part) for part in parts), default=0)
        self.out.write(self.paint("╭" + "─" * (across + 2) + "╮", style) + "\n")
        for part in parts:
            fill = " " * (across - width(part))
            side = self.paint("│", style)
            self.out.write(f"{side} {part}{fill} {side}\n")
        self.out.write(self.paint("╰" + "─" * (across + 2) + "╯", style) + "\n")
        self.out.flush()

    def paint(self, text: str, style: str) -> str:
        """The text in an SGR style such as `1;36`, plain where colours are off."""
        return f"\x1b[{style}m{text}\x1b[0m" if style and text and self.colour else text


def width(text: str) -> int:
    """Cells the text takes."""
    return sum(max(wcwidth(char), 0) for char in text)


def wrap(text: str, room: int) -> list[str]:
    """The text in lines of at most `room` cells, broken at spaces where there are some.

    >>> wrap("가나 다라마", 6)
    ['가나', '다라마']
    """
    if width(text) <= room:
        return [text] if text.strip() else []
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if width(candidate) <= room:
            line = candidate
            continue
        if line.strip():
            lines.append(line)
        while width(word) > room:
            head = ""
            for char in word:
                if width(head + char) > room:
                    break
                head += char
            lines.append(head)
            word = word[len(head) :]
        line = word
    if line.strip():
        lines.append(line)
    return lines


def stdout() -> TextIO:
    """This process's stdout, which writes what it can whatever the locale."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout
