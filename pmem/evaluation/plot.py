"""The table as a picture: pass@1 of each arm with its interval, and the paper's figure beside it.

Plain SVG that needs no font and no script, readable on light and dark grounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pmem.evaluation.paper import title
from pmem.evaluation.table import Figures, Share

LEFT, WIDTH, RIGHT, ROW, TOP = 190, 460, 70, 26, 62
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
    """A row for each folder, and below a heading for each domain where there are several."""
    lines: list[tuple[str, Share | None, float | None]] = []
    names = sorted({name for row in rows for name in row.domains})
    if len(names) > 1:
        lines.append(("all tasks", None, None))
    for row in rows:
        lines.append((row.name, row.whole, row.beside.weighted if row.beside else None))
    for name in names if len(names) > 1 else []:
        lines.append((name, None, None))
        lines += [
            (row.name, row.domains[name], row.beside.passed.get(name) if row.beside else None)
            for row in rows
            if name in row.domains
        ]
    height = TOP + ROW * len(lines) + 40
    whole = LEFT + WIDTH + RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {height}" width="{whole}" '
        f'height="{height}" role="img">',
        f"<style>{STYLE}</style>",
        f'<text x="0" y="18" class="head">{escape(_heading(rows))}</text>',
        _legend(),
    ]
    for tick in range(0, 101, 20):
        x = _x(tick)
        parts.append(
            f'<line x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 34}" class="grid"/>'
            f'<text x="{x}" y="{height - 16}" text-anchor="middle" class="small">{tick} %</text>'
        )
    for n, (name, share, paper) in enumerate(lines):
        parts.append(_line(TOP + ROW * n + 8, name, share, paper))
    return "\n".join([*parts, "</svg>", ""])


def _heading(rows: Sequence[Figures]) -> str:
    benchmarks = dict.fromkeys(title(row.results.config.benchmark) for row in rows)
    models = dict.fromkeys(row.results.config.action_model for row in rows)
    return f"pass@1 on {', '.join(benchmarks)}: {', '.join(models)}"


def _legend() -> str:
    return (
        '<circle cx="6" cy="36" r="5" class="ours"/>'
        '<text x="18" y="40" class="small">measured, with its interval of 95 %</text>'
        '<path d="M246 30 l6 6 l-6 6 l-6 -6 z" class="paper"/>'
        '<text x="260" y="40" class="small">the paper</text>'
    )


def _line(y: int, name: str, share: Share | None, paper: float | None) -> str:
    if share is None:
        return f'<text x="0" y="{y + 4}" class="head">{escape(name)}</text>'
    low, high = share.interval
    made = (
        f'<text x="12" y="{y + 4}">{escape(name)}</text>'
        f'<line x1="{_x(low)}" y1="{y}" x2="{_x(high)}" y2="{y}" class="range"/>'
        f'<circle cx="{_x(share.passed)}" cy="{y}" r="5" class="ours"/>'
        f'<text x="{LEFT + WIDTH + 16}" y="{y + 4}">{share.passed:.1f}</text>'
    )
    if paper is not None:
        made += f'<path d="M{_x(paper)} {y - 7} l7 7 l-7 7 l-7 -7 z" class="paper"/>'
    return made


def _x(percent: float) -> float:
    return round(LEFT + WIDTH * percent / 100, 1)
