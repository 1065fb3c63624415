"""Writes the pictures of docs/review.md: what a terminal and a browser really show.

`python docs/screens.py`; it needs tmux and Chromium. The session is the one that tests/review has.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path

from wcwidth import wcwidth

DOCS = Path(__file__).parent
CHECKOUT = DOCS.parent

CELL, LINE, MARGIN = 8.4, 19, 14
FONT = "font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre"
DARK = ["#5c6370", "#ef6b73", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d6d8de"]
LIGHT = ["#57606a", "#b3261e", "#1a7f37", "#8a6100", "#0550ae", "#8250df", "#0b7285", "#24292f"]
_SGR = re.compile(r"\x1b\[([\d;:]*)m|\x0e|\x0f|\x1b\(.")


@dataclass(frozen=True)
class Look:
    """How a cell looks; `ink` is one of eight colours, None for the terminal's own."""

    ink: int | None = None
    bold: bool = False
    dim: bool = False
    underline: bool = False
    reverse: bool = False

    def after(self, codes: str) -> Look:
        """The look after a control sequence's numbers."""
        look = self
        for code in (int(c) for c in (codes or "0").replace(":", ";").split(";") if c):
            if code == 0:
                look = Look()
            elif code in (1, 2, 4, 7):
                name = {1: "bold", 2: "dim", 4: "underline", 7: "reverse"}[code]
                look = replace(look, **{name: True})
            elif code == 22:
                look = replace(look, bold=False, dim=False)
            elif code in (24, 27):
                look = replace(look, **{"underline" if code == 24 else "reverse": False})
            elif 30 <= code <= 37 or 90 <= code <= 97:
                look = replace(look, ink=code % 10)
            elif code == 39:
                look = replace(look, ink=None)
        return look


def cells(line: str, look: Look) -> tuple[list[tuple[str, Look, int]], Look]:
    """The cells of a line, as text, look and width; and the look that goes on after it."""
    found: list[tuple[str, Look, int]] = []
    at = 0
    for match in [*_SGR.finditer(line), None]:
        end = match.start() if match else len(line)
        for char in line[at:end]:
            wide = wcwidth(char)
            if wide <= 0 and found:
                found[-1] = (found[-1][0] + char, found[-1][1], found[-1][2])
            elif wide > 0:
                found.append((char, look, wide))
        if match is not None:
            at = match.end()
            if match[1] is not None:
                look = look.after(match[1])
    return found, look


def svg(capture: str, *, light: bool = False) -> str:
    """The picture of a captured screen."""
    inks, paper, ink = (LIGHT, "#fdfdfb", "#24292f") if light else (DARK, "#16181d", "#d6d8de")
    lines, look = [], Look()
    for text in capture.rstrip("\n").split("\n"):
        line, look = cells(text, look)
        lines.append(line)
    columns = max((sum(w for _, _, w in line) for line in lines), default=1)
    width, height = columns * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">',
        f'<rect width="100%" height="100%" rx="8" fill="{paper}"/>',
        f'<g style="{FONT}">',
    ]
    for y, line in enumerate(lines):
        x = 0
        for (look, wide), group in groupby(line, key=lambda cell: (cell[1], cell[2] > 1)):
            run = list(group)
            text, room = "".join(c for c, _, _ in run), sum(w for _, _, w in run)
            left, top = MARGIN + x * CELL, MARGIN + y * LINE
            x += room
            colour = ink if look.ink is None else inks[look.ink]
            if look.reverse:
                parts.append(
                    f'<rect x="{left:.1f}" y="{top}" width="{room * CELL:.1f}" height="{LINE}"'
                    f' fill="{colour}"/>'
                )
                colour = paper
            if not text.strip() and not look.underline:
                continue
            style = ' font-weight="bold"' if look.bold else ""
            style += ' opacity="0.62"' if look.dim else ""
            style += ' text-decoration="underline"' if look.underline else ""
            parts.append(
                f'<text x="{left:.1f}" y="{top + 0.75 * LINE:.1f}" textLength="{room * CELL:.1f}"'
                f' lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="{colour}"{style}>'
                f"{escape(text)}</text>"
            )
            del wide
    return "\n".join([*parts, "</g>", "</svg>", ""])


def take(place: Path) -> None:
    """Make the pictures of docs/review.md from a real `pmem review` and `pmem report`."""
    sys.path.insert(0, str(CHECKOUT / "tests" / "review"))
    from made import SPOKE, story
    from screens import Screen

    from pmem.store.project import find_project

    root = place / "api"
    root.mkdir()
    env = {"HOME": str(place)}
    story(find_project(root, env))
    for name, columns, rows, keys, wanted, light in (
        ("review", 132, 36, (), "● SPOKE", False),
        ("review-why", 80, 24, ("Enter",), "cites", True),
        ("review-bank", 80, 24, ("B", "j"), "no-force-push  knowledge", False),
    ):
        screen = Screen(root, env, columns, rows)
        screen.start("review", "--step", str(SPOKE))
        screen.until("● SPOKE")
        screen.keys(*keys or ("S",))
        screen.until(wanted)
        (DOCS / f"{name}.svg").write_text(svg(screen.shown(colours=True), light=light))
        screen.end()
    page = place / "report.html"
    pmem = [sys.executable, "-m", "pmem"]
    subprocess.run([*pmem, "report", "-o", page], cwd=root, env={**os.environ, **env}, check=True)
    for scheme in ("light", "dark"):
        looked_at(page, place, scheme, DOCS / f"report-{scheme}.png")


def looked_at(page: Path, place: Path, scheme: str, picture: Path) -> None:
    """A headless Chromium's picture of a page."""
    subprocess.run(
        [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--disable-background-networking", f"--user-data-dir={place / scheme}",
            f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
            "--window-size=860,1000", f"--screenshot={picture}", page.as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="screens-") as folder:
        take(Path(folder))
