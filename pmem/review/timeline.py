"""The timeline of a session as a picture: what passed, what failed, where memory spoke."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from pmem.review.recorded import Mark

#: The picture in its own units; it is scaled to the page.
WIDTH, HEIGHT = 1000, 96
LEFT, BASE = 8, 66
#: Columns at most: a longer session has several steps in one.
COLUMNS = 320
_SIGNS = {Mark.HELD: "held", Mark.SPOKE: "spoke", Mark.HELD_BACK: "back"}


def timeline(
    outcomes: Sequence[tuple[int, bool]], marks: Sequence[tuple[int, Mark]], last: int
) -> str:
    """An SVG. `outcomes` are (step, failed), `marks` (step, what memory did), `last` the number of
    the last step. A mark leads to `#step-N`."""
    last = max(last, 1)
    room = WIDTH - 2 * LEFT
    columns = min(last, COLUMNS)

    def column(step: int) -> int:
        return min((step - 1) * columns // last, columns - 1)

    def left(at: int) -> float:
        return LEFT + at * room / columns

    passed, bad = Counter[int](), Counter[int]()
    for step, failed in outcomes:
        (bad if failed else passed)[column(step)] += 1
    most = max((passed[c] + bad[c] for c in {*passed, *bad}), default=1)
    wide = max(room / columns - 1, 0.8)
    parts = [
        f'<svg class="timeline" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(_label(outcomes, marks))}">',
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - LEFT}" y1="{BASE}" y2="{BASE}"/>',
    ]
    for at in sorted({*passed, *bad}):
        tall = 26 * passed[at] / most if most > 1 else 10 * passed[at]
        deep = 20 * bad[at] / most if most > 1 else 18 * bad[at]
        if passed[at]:
            parts.append(_bar("passed", left(at), BASE - tall, wide, tall))
        if bad[at]:
            parts.append(_bar("failed", left(at), BASE, wide, max(deep, 4)))
    for step, mark in sorted(marks, key=lambda pair: pair[1]):
        x, said = left(column(step)) + wide / 2, _SIGNS[mark]
        parts.append(_sign(said, x, step))
    for n in sorted({1, *_ticks(last), last}):
        x = left(column(n)) + wide / 2
        anchor = "start" if n == 1 else "end" if n == last else "middle"
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{HEIGHT - 1}" text-anchor="{anchor}">{n}</text>'
        )
    return "".join([*parts, "</svg>"])


def _bar(kind: str, x: float, y: float, wide: float, tall: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"/>'


def _sign(kind: str, x: float, step: int) -> str:
    words = {"held": "held an action back", "spoke": "spoke", "back": "chose silence"}[kind]
    title = f"<title>step {step}: {words}</title>"
    if kind == "back":
        return f'<circle class="back" cx="{x:.1f}" cy="28" r="3.5">{title}</circle>'
    if kind == "held":
        shape = (
            f'<rect class="held" x="{x - 6:.1f}" y="5" width="12" height="12" rx="2">{title}</rect>'
        )
    else:
        shape = f'<circle class="spoke" cx="{x:.1f}" cy="11" r="6.5">{title}</circle>'
    stem = f'<line class="stem {kind}" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{BASE}"/>'
    return f'<a href="#step-{step}">{stem}{shape}</a>'


def _ticks(last: int) -> list[int]:
    """Round numbers, about eight of them."""
    step = 1
    for step in (n * 10**e for e in range(9) for n in (1, 2, 5)):
        if last / step <= 8:
            break
    return [n for n in range(step, last, step) if last - n > step / 3]


def _label(outcomes: Sequence[tuple[int, bool]], marks: Sequence[tuple[int, Mark]]) -> str:
    failed = sum(1 for _, bad in outcomes if bad)
    spoke = sum(1 for _, mark in marks if mark >= Mark.SPOKE)
    return f"{len(outcomes)} actions, {failed} of them failed; memory spoke {spoke} times"
