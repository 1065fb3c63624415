"""The table as a picture: pass@1 of each arm with its interval, and the paper's figure beside it.

Plain SVG that needs no font and no script, readable on light and dark grounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from pmem.evaluation.paper import title
from pmem.evaluation.table import Figures, Share, together

LEFT, WIDTH, RIGHT, ROW, TOP = 190, 460, 70, 26, 62
#: Characters of a name that fit beside the plot.
LONGEST = 22
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 11px; fill: #59636e }
.head { font-weight: 600 }
.grid { stroke: #d1d9e0 }
.range { stroke: #8c959f; stroke-width: 3; stroke-linecap: round }
.ours { fill: #0969da }
.paper { fill: none; stroke: #bc4c00; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #30363d }
  .range { stroke: #6e7681 } .ours { fill: #58a6ff } .paper { stroke: #ffa657 }
}
"""


def svg(rows: Sequence[Figures]) -> str:
    """A row for each folder, and below a heading for each domain where there are several; what
    cannot be compared stands apart."""
    lines = [line for mine in together(rows) for line in _lines(mine)]
    height = TOP + ROW * len(lines) + 40
    whole = LEFT + WIDTH + RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {height}" width="{whole}" '
        f'height="{height}" role="img">',
        f"<style>{STYLE}</style>",
        '<text x="0" y="18" class="head">pass@1 in percent</text>',
        _legend(),
    ]
    for tick in range(0, 101, 20):
        x = _x(tick)
        parts.append(
            f'<line x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 34}" class="grid"/>'
            f'<text x="{x}" y="{height - 16}" text-anchor="middle" class="small">{tick} %</text>'
        )
    for n, line in enumerate(lines):
        parts.append(_drawn(TOP + ROW * n + 8, line))
    return "\n".join([*parts, "</svg>", ""])


class _Line(NamedTuple):
    """A row of the picture; a heading has no share."""

    name: str
    share: Share | None = None
    paper: float | None = None
    indent: int = 0


def _lines(rows: Sequence[Figures]) -> Iterator[_Line]:
    config = rows[0].results.config
    names = sorted({name for row in rows for name in row.domains})
    yield _Line(f"{title(config.benchmark)}, {config.action_model}")
    if len(names) > 1:
        yield _Line("all tasks", indent=12)
    for row in rows:
        yield _Line(row.name, row.whole, row.beside.weighted if row.beside else None, 24)
    for name in names if len(names) > 1 else ():
        yield _Line(name, indent=12)
        for row in rows:
            if name in row.domains:
                paper = row.beside.passed.get(name) if row.beside else None
                yield _Line(row.name, row.domains[name], paper, 24)


def _legend() -> str:
    return (
        '<circle cx="6" cy="36" r="5" class="ours"/>'
        '<text x="18" y="40" class="small">measured, with its interval of 95 %</text>'
        '<path d="M246 30 l6 6 l-6 6 l-6 -6 z" class="paper"/>'
        '<text x="260" y="40" class="small">the paper</text>'
    )


def _drawn(y: int, line: _Line) -> str:
    if line.share is None:
        kind = "" if line.indent else ' class="head"'
        return f'<text x="{line.indent}" y="{y + 4}"{kind}>{escape(line.name)}</text>'
    low, high = line.share.interval
    made = (
        f'<text x="{line.indent}" y="{y + 4}">{escape(_short(line.name))}'
        f"<title>{escape(line.name)}</title></text>"
        f'<line x1="{_x(low)}" y1="{y}" x2="{_x(high)}" y2="{y}" class="range"/>'
        f'<circle cx="{_x(line.share.passed)}" cy="{y}" r="5" class="ours"/>'
        f'<text x="{LEFT + WIDTH + 16}" y="{y + 4}">{line.share.passed:.1f}</text>'
    )
    if line.paper is not None:
        made += f'<path d="M{_x(line.paper)} {y - 7} l7 7 l-7 7 l-7 -7 z" class="paper"/>'
    return made


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _x(percent: float) -> float:
    return round(LEFT + WIDTH * percent / 100, 1)
