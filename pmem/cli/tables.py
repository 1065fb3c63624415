"""Tables and data on stdout: rich for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pmem.cli.environment import Environment

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

#: Width for a reader that is no terminal: nothing is wrapped or cut for it.
UNBOUNDED = 100_000


def write_json(environment: Environment, value: Any, *, one_line: bool = False) -> None:
    """One JSON value; characters as they are where the stream can carry them."""
    encoding = (getattr(environment.stdout, "encoding", None) or "utf-8").lower()
    text = json.dumps(
        value,
        ensure_ascii=not encoding.startswith("utf"),
        indent=None if one_line else 2,
        default=str,
    )
    environment.write(text.encode("utf-8", "backslashreplace").decode())


def show(environment: Environment, *parts: RenderableType) -> None:
    """Print on stdout, as wide as the terminal, coloured as the environment says."""
    from rich.console import Console

    colour = environment.colour(environment.stdout)
    console = Console(
        file=environment.stdout,
        width=width(environment),
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    for line in capture.get().rstrip("\n").split("\n"):
        environment.write(line.rstrip(" "))


def width(environment: Environment) -> int:
    """Cells a table may take: the terminal's or COLUMNS; without either, as many as it likes."""
    bound = environment.stdout_isatty or environment.width or environment.env.get("COLUMNS")
    return max(environment.columns, 40) if bound else UNBOUNDED


def grid(columns: Sequence[str], *, right: Sequence[str] = (), narrow: int = 0) -> Table:
    """An unboxed table with headings; the last column takes the room that is left.

    Columns named in `right` hold numbers; the first is at most `narrow` cells wide (0: any).
    """
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    for n, name in enumerate(columns):
        made.add_column(
            name,
            justify="right" if name in right else "left",
            overflow="fold",
            no_wrap=name in right,
            max_width=narrow if n == 0 and narrow else None,
        )
    return made


def text(value: str, style: str = "", *, cut: bool = False) -> Text:
    """Plain text in a style; control characters stripped; `cut` shortens instead of wrapping."""
    from rich.text import Text

    from pmem.core.text import clean

    return Text(clean(value), style=style, no_wrap=cut, overflow="ellipsis" if cut else "fold")
