"""The banner: how a person in a shell sees a reminder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmem.terminal.cells import fit, width, wrap

HEADER = "[MEMORY REMINDER]"
#: What a banner adds when the command has not started and waits for the person.
HELD = "The command has not started. Enter runs it, ctrl-C drops it."
#: A banner is never wider than this, however wide the terminal: lines stay readable.
MAX_COLUMNS = 92
#: Narrower than this there is no border.
MIN_BORDERED = 20
#: At most so many cited entries are named.
MAX_CITED = 3


@dataclass(frozen=True, slots=True)
class _Style:
    """Escape sequences by part; all empty without colour. Readable on dark and light."""

    border: str = ""
    header: str = ""
    strong: str = ""
    faint: str = ""
    off: str = ""


_PLAIN = _Style()
_COLOURED = _Style("\x1b[35m", "\x1b[1;35m", "\x1b[1m", "\x1b[2m", "\x1b[0m")
_HELD = _Style("\x1b[31m", "\x1b[1;31m", "\x1b[1m", "\x1b[2m", "\x1b[0m")


@dataclass(frozen=True, slots=True)
class _Box:
    """The characters of a border."""

    top_left: str
    top_right: str
    bottom_left: str
    bottom_right: str
    across: str
    down: str


_LINES = _Box("╭", "╮", "╰", "╯", "─", "│")
_ASCII = _Box("+", "+", "+", "+", "-", "|")

#: Signs of pmem's own that a terminal without UTF-8 may not have, cell for cell.
_NO_SIGNS = str.maketrans("·…", "-~")

#: A piece of a line with the name of its style ("" for none).
_Piece = tuple[str, str]


def render_banner(
    banner: Mapping[str, Any], columns: int, colour: bool, *, ascii_only: bool = False
) -> str:
    """A banner as it stands on the wire, drawn for a terminal of so many columns.

    Lines end in CR LF and leave the last column free. `ascii_only` draws the border in ASCII.
    """
    style = _PLAIN if not colour else _HELD if banner.get("held") else _COLOURED
    room = min(max(columns, 2), MAX_COLUMNS) - 1
    bordered = columns >= MIN_BORDERED
    inner = room - 4 if bordered else room
    body = _body(banner, inner)
    if ascii_only:
        body = [[(text.translate(_NO_SIGNS), name) for text, name in line] for line in body]
    more = _how_to_see_more(banner)
    if not bordered:
        lines = [[(HEADER, "header")], *body, *_faint(more, inner)]
        return "".join(_paint(line, style) + "\r\n" for line in lines)
    in_border = width(more) + 6 <= room
    if not in_border:
        body += _faint(more, inner)
    widest = max(_line_width(line) for line in body)
    inner = max(widest, width(HEADER) + 2, width(more) + 2 if in_border else 0)
    inner = min(inner, room - 4)
    box = _ASCII if ascii_only else _LINES
    top = _edge(box.top_left, box.top_right, box.across, (HEADER, "header"), inner)
    foot: _Piece = (more if in_border else "", "faint")
    bottom = _edge(box.bottom_left, box.bottom_right, box.across, foot, inner)
    side: _Piece = (box.down, "border")
    rows = [
        [side, (" ", ""), *line, (" " * (inner - _line_width(line) + 1), ""), side] for line in body
    ]
    return "".join(_paint(row, style) + "\r\n" for row in (top, *rows, bottom))


def wants_colour(env: Mapping[str, str]) -> bool:
    """Whether colours are welcome: NO_COLOR and TERM=dumb say no."""
    return not env.get("NO_COLOR") and env.get("TERM", "") not in ("", "dumb")


def charset(env: Mapping[str, str]) -> str:
    """The character set of the locale in these variables, "" where none is named."""
    name = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    return name.partition("@")[0].partition(".")[2].lower()


def encode_banner(banner: Mapping[str, Any], columns: int, env: Mapping[str, str]) -> bytes:
    """The banner as this terminal takes it, by NO_COLOR, TERM and the locale."""
    code = charset(env)
    utf8 = code in ("utf-8", "utf8")
    text = render_banner(banner, columns, wants_colour(env), ascii_only=not utf8)
    if not utf8 and code:
        try:
            return text.encode(code, "replace")
        except LookupError:
            pass
    return text.encode("utf-8", "replace")


def _body(banner: Mapping[str, Any], cells: int) -> list[list[_Piece]]:
    lines: list[list[_Piece]] = [
        [(line, "strong")] for line in wrap(_plain(banner.get("text")), cells)
    ]
    citations = [c for c in banner.get("citations") or () if isinstance(c, Mapping)]
    for citation in citations[:MAX_CITED]:
        lines.extend(_cited(citation, cells, _plain(banner.get("text"))))
    left = len(citations) - MAX_CITED
    if left > 0:
        lines.append([(f"and {left} more", "faint")])
    if banner.get("held"):
        held = banner["held"] if isinstance(banner["held"], str) else HELD
        lines.extend([(line, "header")] for line in wrap(held, cells))
    return lines


def _cited(citation: Mapping[str, Any], cells: int, text: str) -> list[list[_Piece]]:
    """An entry: its id and steps, and as much of its content as one line has room for.

    A content that stands in the reminder's text is not shown a second time.
    """
    id = _plain(citation.get("id"))
    steps = [str(n) for n in citation.get("steps") or ()]
    where = f"step{'s' if len(steps) > 1 else ''} {', '.join(steps)}" if steps else ""
    head = f"{id} · {where}" if where else id
    if width(head) > cells:
        return [[(line, "faint")] for line in wrap(f"{id} {where}".strip(), cells)]
    content = _plain(citation.get("content")).replace("\n", " ")
    room = cells - width(head) - 3
    if content and room >= 12 and _essence(content) not in _essence(text):
        return [[(head, ""), (f" · {fit(content, room)}", "faint")]]
    return [[(head, "")]]


def _essence(text: str) -> str:
    """A text as it is compared: what is quoted in it, else its letters."""
    quoted = re.search(r"“(.+)”", text)
    return re.sub(r"\W+", "", quoted[1] if quoted else text).casefold()


def _how_to_see_more(banner: Mapping[str, Any]) -> str:
    for citation in banner.get("citations") or ():
        if isinstance(citation, Mapping) and citation.get("id"):
            return f"pmem bank show {_plain(citation['id'])}"
    return "pmem log --decisions"


def _faint(text: str, cells: int) -> list[list[_Piece]]:
    return [[(line, "faint")] for line in wrap(text, cells)]


def _edge(left: str, right: str, across: str, label: _Piece, inner: int) -> list[_Piece]:
    """A border line with a label in it, `inner + 4` cells wide."""
    text, name = label
    if not text:
        return [(left + across * (inner + 2) + right, "border")]
    lead = across + " " if inner >= width(text) + 2 else ""
    gap = " " if lead else ""
    fill = inner + 2 - width(lead) - width(text) - width(gap)
    return [(left + lead, "border"), (text, name), (gap + across * fill + right, "border")]


def _line_width(line: Sequence[_Piece]) -> int:
    return sum(width(text) for text, _ in line)


def _paint(line: Sequence[_Piece], style: _Style) -> str:
    out = ""
    for text, name in line:
        start = getattr(style, name) if name else ""
        out += f"{start}{text}{style.off}" if start and text else text
    return out


def _plain(value: object) -> str:
    """Text without anything a terminal would act on."""
    from pmem.core.text import clean

    return clean(str(value or "")).replace("\t", " ").strip()
