"""Writes docs/demo.svg: what a terminal shows at the end of a real run of `pmem demo`.

`python docs/picture.py [COLUMNS ROWS]`. The colours are those a terminal would choose.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

import pexpect
import pyte
from pyte.screens import Char
from wcwidth import wcwidth

PICTURE = Path(__file__).parent / "demo.svg"
CELL, LINE, MARGIN = 8.4, 19, 18
PAPER, INK = "#16181d", "#d6d8de"
COLOURS = {
    "black": "#5c6370",
    "red": "#ef6b73",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": INK,
    "default": INK,
}
STYLE = "font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre"


def record(columns: int, rows: int) -> pyte.Screen:
    """The screen after the demonstration, in a HOME of its own."""
    screen = pyte.HistoryScreen(columns, rows)
    stream = pyte.ByteStream(screen)
    with tempfile.TemporaryDirectory(prefix="demo-") as home:
        env = {
            "HOME": home,
            "TMPDIR": home,
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
        }
        child = pexpect.spawn(
            sys.executable, ["-m", "pmem", "demo"], env=env, dimensions=(rows, columns), timeout=180
        )
        stream.feed(neutral(child.read(), home))
        child.close()
    if child.exitstatus != 0:
        raise SystemExit(f"pmem demo ended {child.exitstatus}:\n" + "\n".join(screen.display))
    return screen


def neutral(output: bytes, home: str) -> bytes:
    """The output without the name of this run's temporary directory."""
    return re.sub(re.escape(home.encode()), b"/tmp", output)


def runs(line: dict[int, Char], columns: int) -> Iterator[tuple[int, int, str, Char]]:
    """Neighbouring cells of one style: first column, width in cells, text, a cell of that style."""
    cells = [(x, line[x]) for x in range(columns)]

    def style(item: tuple[int, Char]) -> tuple[object, ...]:
        return item[1].fg, item[1].bold, wcwidth(item[1].data or " ") > 1

    for _, group in groupby((c for c in cells if c[1].data), key=style):
        part = list(group)
        text = "".join(char.data for _, char in part)
        yield part[0][0], sum(max(wcwidth(c.data), 1) for _, c in part), text, part[0][1]


def svg(screen: pyte.Screen) -> str:
    """The screen as a picture; empty lines at the end are left out."""
    last = max(y for y in range(screen.lines) if screen.display[y].strip())
    width = screen.columns * CELL + 2 * MARGIN
    height = (last + 1) * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">',
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
        f'<g style="{STYLE}">',
    ]
    for y in range(last + 1):
        for x, cells, text, char in runs(screen.buffer[y], screen.columns):
            if not text.strip():
                continue
            weight = ' font-weight="bold"' if char.bold else ""
            parts.append(
                f'<text x="{MARGIN + x * CELL:.1f}" y="{MARGIN + (y + 0.75) * LINE:.1f}"'
                f' textLength="{cells * CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
                f' xml:space="preserve" fill="{colour(char)}"{weight}>{escape(text)}</text>'
            )
    return "\n".join([*parts, "</g>", "</svg>", ""])


def colour(char: Char) -> str:
    """A colour of the picture for one of the terminal's; 256-colour ones come as hex digits."""
    return COLOURS.get(char.fg, f"#{char.fg}" if len(char.fg) == 6 else INK)


def main(argv: list[str]) -> int:
    """Run the demonstration and write the picture."""
    columns, rows = (int(word) for word in argv) if argv else (96, 120)
    PICTURE.write_text(svg(record(columns, rows)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
