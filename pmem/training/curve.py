"""A curve of training as a picture: plain SVG that needs no font and no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from pmem.evaluation.plot import STYLE

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 640, 260, 56, 48, 34, 16
_COLOURS = ("#0969da", "#bc4c00", "#1a7f37", "#8250df")
TICKS = 4


def curve(title: str, lines: Mapping[str, Points], below: str = "update") -> str:
    """A line for each name through its points (x, y), the first solid, the others dashed; ranges
    as the points have them, y down to 0 at least."""
    points = [point for line in lines.values() for point in line]
    xs = [x for x, _ in points] or [0.0]
    ys = [*(y for _, y in points), 0.0]
    x0, x1, y0, y1 = min(xs), max(xs), min(ys), max(ys)
    wide, high = x1 - x0 or 1.0, y1 - y0 or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        right = LEFT + (WIDTH - LEFT - RIGHT) * (x - x0) / wide
        down = TOP + (HEIGHT - TOP - BOTTOM) * (1 - (y - y0) / high)
        return round(right, 1), round(down, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img">',
        f"<style>{STYLE}</style>",
        f'<text x="0" y="18" class="head">{escape(title)}</text>',
    ]
    for n in range(TICKS + 1):
        x, y = x0 + wide * n / TICKS, y0 + high * n / TICKS
        across, down = at(x, y)
        parts.append(
            f'<line x1="{LEFT}" y1="{down}" x2="{WIDTH - RIGHT}" y2="{down}" class="grid"/>'
            f'<text x="{LEFT - 8}" y="{down + 4}" text-anchor="end" class="small">{y:.3g}</text>'
            f'<text x="{across}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" '
            f'class="small">{x:.0f}</text>'
        )
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end" class="small">'
        f"{escape(below)}</text>"
    )
    for n, (name, line) in enumerate(lines.items()):
        colour, dash = _COLOURS[n % len(_COLOURS)], ' stroke-dasharray="5 4"' if n else ""
        stroke = f'fill="none" stroke="{colour}" stroke-width="2"{dash}'
        path = " ".join(f"{x},{y}" for x, y in (at(*point) for point in line))
        left = LEFT + 150 * n
        parts.append(
            f'<polyline points="{path}" {stroke}/>'
            f'<line x1="{left}" y1="36" x2="{left + 20}" y2="36" {stroke}/>'
            f'<text x="{left + 26}" y="40" class="small">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])
