"""Screen: a View drawn in so many columns and rows; at 80 one pane above the other, else beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pmem.review import rows
from pmem.review.help import HELP
from pmem.review.lines import Line, cells, counted, fitted, flat, restyled
from pmem.review.view import BANK, SESSIONS, STEPS, View

#: From so many columns on the detail stands beside the list, and the sessions beside both.
BESIDE, THREE = 110, 170
TABS = {STEPS: ("S", "Steps"), BANK: ("B", "Bank"), SESSIONS: ("L", "Sessions")}


@dataclass
class Drawn:
    """The lines of a screen, and what a click at (column, row) means: a pane and a row of it."""

    lines: list[Line] = field(default_factory=list)
    areas: list[tuple[range, range, str, int]] = field(default_factory=list)

    def hit(self, column: int, row: int) -> tuple[str, int] | None:
        """The pane (`detail` is one) and its row under a cell."""
        for columns, lines, pane, top in self.areas:
            if column in columns and row in lines:
                return pane, top + row - lines.start
        return None


def drawn(view: View, columns: int, height: int) -> Drawn:
    """The whole screen: title, panes, hints."""
    made = Drawn()
    made.lines.append(title(view, columns))
    body = height - 2
    if view.help:
        _whole(made, view, columns, body, [list(line) for line in HELP])
    elif view.whole:
        _whole(made, view, columns, body, view.detail(columns - 2))
    elif columns >= BESIDE:
        _beside(made, view, columns, body)
    else:
        _stacked(made, view, columns, body)
    made.lines = made.lines[: height - 1]
    made.lines += [[]] * (height - 1 - len(made.lines))
    made.lines.append(hints(view, columns))
    return made


def title(view: View, columns: int) -> Line:
    """The name, the session, and the three panes."""
    left: Line = [("title", " pmem review")]
    if columns >= BESIDE:
        left.append(("dim", f"  {flat(view.name)}"))
    if view.recorded is not None:
        info = view.recorded.info
        running = "running, " if info.live and columns >= BESIDE else ""
        left.append(("", f"  {info.id}"))
        left.append(("dim", f"  {running}{counted(view.recorded.count, 'step')}"))
    right: Line = []
    for pane, (key, name) in TABS.items():
        count = f" {view.count_of(BANK)}" if pane == BANK else ""
        style = "chosen" if pane == view.pane else ""
        right += [(style or "key", f" {key}"), (style or "dim", f" {name}{count} ")]
    room = columns - cells(right)
    return [*fitted(left, room), *right]


def hints(view: View, columns: int) -> Line:
    """The last line: a message, else the keys that matter here."""
    if view.conflict is not None:
        return fitted([("trouble", " changed by two hands: "), ("", _KEYS_CONFLICT)], columns)
    if view.message:
        return fitted([("trouble" if view.trouble else "message", f" {view.message}")], columns)
    if view.digits:
        return fitted(
            [("key", f" step {view.digits}"), ("dim", "  Enter or G goes there")], columns
        )
    if view.help:
        keys = _KEYS_HELP
    elif view.whole:
        keys = _KEYS_WHOLE
    else:
        keys = {STEPS: _KEYS_STEPS, BANK: _KEYS_BANK, SESSIONS: _KEYS_SESSIONS}[view.pane]
    line: Line = []
    for key, words in keys:
        piece: Line = [("key", f" {key}"), ("dim", f" {words} ")]
        if cells(line) + cells(piece) > columns:
            break
        line += piece
    return fitted(line, columns)


_KEYS_CONFLICT = "m keeps yours, t keeps theirs, Esc writes on"
_KEYS_HELP = [("j k Space", "scroll"), ("q", "back")]
_KEYS_STEPS = [
    ("?", "help"), ("Enter", "why"), ("] [", "where it spoke"), ("/", "find"), ("f", "filter"),
    ("p", "prompt"), ("Tab", "pane"), ("q", "quit"), ("41G", "step 41"),
    ("j k Space b g G", "move"),
]  # fmt: skip
_KEYS_BANK = [
    ("?", "help"), ("/", "filter"), ("e", "edit"), ("a", "add"), ("d", "delete"), ("*", "pin"),
    ("u", "undo"), ("Tab", "pane"), ("q", "quit"), ("D", "delete what is stale"),
    ("E", "in your editor"),
]  # fmt: skip
_KEYS_SESSIONS = [("?", "help"), ("Enter", "open"), ("Tab", "pane"), ("q", "quit")]
_KEYS_WHOLE = [
    ("q", "back"), ("j k Space b", "scroll"), ("] [", "where it spoke"), ("J K", "next step"),
    ("p", "prompt"),
]  # fmt: skip


# -- panes ------------------------------------------------------------------------------------


def _stacked(made: Drawn, view: View, columns: int, body: int) -> None:
    listed = max(5, (body - 2) * 2 // 5)
    view.height = listed
    head, lines = listing(view, view.pane, columns, listed)
    made.lines.append(head)
    _area(made, view, view.pane, range(columns), lines)
    detail = view.detail(columns - 2)
    view.detail_height, view.detail_count = body - 2 - listed, len(detail)
    view.detail_top = max(0, min(view.detail_top, len(detail) - view.detail_height))
    made.lines.append(_ruled(_about(view), columns, view.in_detail))
    _whole(made, view, columns, view.detail_height, detail)


def _beside(made: Drawn, view: View, columns: int, body: int) -> None:
    panes: list[tuple[str, int]] = []
    left = columns
    if columns >= THREE and view.pane != SESSIONS:
        panes.append((SESSIONS, 46))
        left -= 47
    panes.append((view.pane, min(max(left * 46 // 100, 52), 84)))
    rest = columns - sum(wide + 1 for _, wide in panes)
    view.height = body - 1
    parts: list[tuple[list[Line], int]] = []
    at = 0
    top = len(made.lines)
    for pane, wide in panes:
        head, lines = listing(view, pane, wide, body - 1)
        parts.append(([head, *lines], wide))
        made.areas.append(
            (range(at, at + wide), range(top + 1, top + body), pane, view.places[pane].top)
        )
        at += wide + 1
    detail = view.detail(rest - 1)
    view.detail_height, view.detail_count = body - 1, len(detail)
    view.detail_top = max(0, min(view.detail_top, len(detail) - view.detail_height))
    about: Line = [("title" if view.in_detail else "dim", f" {_about(view)}")]
    shown = detail[view.detail_top : view.detail_top + body - 1]
    parts.append(([about, *([("", " "), *line] for line in shown)], rest))
    made.areas.append((range(at, columns), range(top + 1, top + body), "detail", view.detail_top))
    for n in range(body):
        line: Line = []
        for m, (lines, wide) in enumerate(parts):
            line += ([("rule", "│")] if m else []) + fitted(
                lines[n] if n < len(lines) else [], wide
            )
        made.lines.append(line)


def _whole(made: Drawn, view: View, columns: int, body: int, detail: Sequence[Line]) -> None:
    view.detail_height, view.detail_count = body, len(detail)
    view.detail_top = max(0, min(view.detail_top, len(detail) - body))
    top = len(made.lines)
    for line in detail[view.detail_top : view.detail_top + body]:
        made.lines.append(fitted([("", " "), *line], columns))
    made.areas.append((range(columns), range(top, top + body), "detail", view.detail_top))


def _area(made: Drawn, view: View, pane: str, columns: range, lines: list[Line]) -> None:
    top = len(made.lines)
    made.lines += lines
    made.areas.append((columns, range(top, top + len(lines)), pane, view.places[pane].top))


def _about(view: View) -> str:
    more = view.detail_count - view.detail_height
    place = f"  {view.detail_top + view.detail_height}/{view.detail_count}" if more > 0 else ""
    what = {STEPS: f"step {view.step}", BANK: "entry", SESSIONS: "session"}[view.pane]
    return f"{what}{place}"


def _ruled(words: str, columns: int, strong: bool) -> Line:
    line: Line = [("rule", "──"), ("title" if strong else "dim", f" {words} ")]
    return [*line, ("rule", "─" * max(columns - cells(line), 0))]


def listing(view: View, pane: str, room: int, height: int) -> tuple[Line, list[Line]]:
    """A pane's heading and its rows, the chosen one marked."""
    place = view.places[pane]
    count = view.count_of(pane)
    place.keep(height, count)
    shown = range(place.top, min(place.top + height, count))
    inner = room - 1
    if pane == STEPS:
        head, lines = _steps(view, shown, inner)
    elif pane == BANK:
        entries = view.entries()
        filtered = f"  /{view.bank_filter}" if view.bank_filter else ""
        stale = sum(1 for e in view.desk.entries.values() if e.stale)
        head = [("dim", f" {counted(count, 'entry', 'entries')}"), ("note", filtered)]
        head += [("stale", f"  {stale} stale: D")] if stale else []
        if view.unread:
            shown_are = "the last good ones: " if count else ""
            head = [*head, ("trouble", f"  {shown_are}{flat(view.unread)}")]
        lines = [rows.bank_row(entries[n], view.watch(entries[n]), inner) for n in shown]
    else:
        head = [("dim", "   agent           when  steps task")]
        lines = [rows.session_row(view.sessions[n], view.opened_at, inner) for n in shown]
    made: list[Line] = []
    for n, line in zip(shown, lines, strict=True):
        if n != place.at:
            made.append([("", " "), *line])
        elif pane == view.pane and not view.in_detail:
            made.append(restyled([("", "❯"), *line], "chosen"))
        else:
            made.append([("key", "❯"), *line])
    if not made:
        nothing = "nothing fits" if _narrowed(view, pane) else "nothing yet"
        unknown = pane == BANK and view.unread
        made.append([("dim", f"  {'not known' if unknown else nothing}")])
    return fitted(head, room), made + [[]] * (height - len(made))


def _narrowed(view: View, pane: str) -> bool:
    return bool(view.bank_filter) if pane == BANK else bool(view.filter) and pane == STEPS


def _steps(view: View, shown: range, room: int) -> tuple[Line, list[Line]]:
    recorded = view.recorded
    if recorded is None:
        return [("dim", " no session yet: pmem run CMD, or pmem shell")], []
    digits = max(len(str(recorded.last)), 4)
    head: Line = [("dim", f" {'step':>{digits}} exit  time   what was done")]
    if view.filter:
        found = view.hunt
        share = found.share if found is not None else 1.0
        more = f", {share:.0%} looked through" if share < 1 else ""
        head = [
            ("note", f" only {view.filter}: {counted(view.count_of(STEPS), 'step')}{more}  "),
            ("dim", "f changes it"),
        ]
    lines = []
    if view.hunt is None and shown:
        recorded.page(view.number_at(shown[0]), view.number_at(shown[-1]))
    for row in shown:
        number = view.number_at(row)
        lines.append(
            rows.step_row(number, recorded.step(number), recorded.mark(number), digits, room)
        )
    return head, lines
