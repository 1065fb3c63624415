"""How bank entries look: a table of all, a page of one, JSON in the shape of bank.toml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pmem.cli.environment import Environment
from pmem.cli.tables import UNBOUNDED, grid, show, text, width
from pmem.core.bank import Entry

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Lines of an output that the table shows, from its end.
TAIL = 3
#: Characters of a content that the table shows on a terminal.
MAX_CONTENT = 1000
#: Cells of the column of ids, longer ones are wrapped.
MAX_ID = 48
STYLES = {"failed": "red", "succeeded": "green", "diagnosis": "yellow"}
_TRIED = ("", "tries", "exit", "what was tried")
MARKS = {"failed": "✗", "succeeded": "✓", "diagnosis": "•"}


def show_entries(environment: Environment, entries: Iterable[Entry]) -> None:
    """Knowledge and procedural entries, one table each; nothing for none."""
    entries = list(entries)
    knowledge = [e for e in entries if e.section == "knowledge"]
    procedural = [e for e in entries if e.section == "procedural"]
    parts: list[RenderableType] = []
    if knowledge:
        parts += [text("KNOWLEDGE", "bold cyan"), _knowledge(environment, knowledge)]
    if procedural:
        if parts:
            parts.append("")
        parts += [text("PROCEDURAL", "bold cyan"), _procedural(environment, procedural)]
    show(environment, *parts)


def _knowledge(environment: Environment, entries: Sequence[Entry]) -> RenderableType:
    if not roomy(environment):
        from rich.console import Group

        return Group(*(_headed(entry, _cell(entry, environment)) for entry in entries))
    table = grid(("id", "what is known"), narrow=MAX_ID)
    for entry in entries:
        table.add_row(text(entry.id, "cyan"), _cell(entry, environment))
    return table


def _procedural(environment: Environment, entries: Sequence[Entry]) -> RenderableType:
    wide = roomy(environment)
    table = grid(
        ("id", *_TRIED) if wide else _TRIED, right=("tries", "exit"), narrow=MAX_ID if wide else 0
    )
    for entry in entries:
        style = STYLES.get(entry.outcome, "")
        cells = [
            text(MARKS.get(entry.outcome, "?"), style),
            text(str(entry.attempts) if entry.attempts else ""),
            text("" if entry.exit_code is None else str(entry.exit_code), style),
        ]
        cell = _cell(entry, environment)
        if wide:
            table.add_row(text(entry.id, "cyan"), *cells, cell)
        else:
            table.add_row(*cells, _headed(entry, cell))
    return table


def _headed(entry: Entry, cell: RenderableType) -> RenderableType:
    """A cell under the id of its entry, set in."""
    from rich.console import Group
    from rich.padding import Padding

    return Group(text(entry.id, "cyan"), Padding(cell, (0, 0, 0, 2)))


def roomy(environment: Environment) -> bool:
    """Whether ids get a column of their own; else they head what they name."""
    return width(environment) >= 120


def _cell(entry: Entry, environment: Environment) -> RenderableType:
    """The content, when it speaks, and the end of the output, each on lines of its own."""
    from rich.console import Group

    bound = width(environment) < UNBOUNDED
    content = entry.content
    if bound and len(content) > MAX_CONTENT:
        content = f"{content[:MAX_CONTENT]}… ({len(content)} characters: pmem bank show {entry.id})"
    parts: list[RenderableType] = [text(content, "dim" if entry.stale else "")]
    if entry.stale:
        parts.append(text(f"✖ stale: {entry.stale}", "red"))
    if entry.when:
        parts.append(text("when " + watch_words(entry.when), "magenta"))
    if entry.output and entry.outcome != "succeeded":
        lines = [line for line in entry.output.splitlines() if line.strip()][-TAIL:]
        parts += [text(f"│ {line}", "dim", cut=bound) for line in lines]
    where = [part for part in (_source(entry), entry.note) if part]
    if where:
        parts.append(text(" · ".join(where), "dim"))
    return Group(*parts)


def _source(entry: Entry) -> str:
    """Where a fact is from, unless it says so itself; that of an attempt stands in its steps."""
    told = entry.section == "procedural" and entry.source.startswith("step ")
    return "" if told or entry.source in entry.content else entry.source


def show_entry(environment: Environment, entry: Entry) -> None:
    """All of one entry."""
    facts = {
        "outcome": entry.outcome,
        "command": entry.command,
        "directory": entry.cwd,
        "attempts": str(entry.attempts or ""),
        "exit code": "" if entry.exit_code is None else str(entry.exit_code),
        "failure": entry.failure,
        "failed at": _steps(entry.failed_steps),
        "passed at": _steps(entry.passed_steps),
        "session": entry.session,
        "tags": ", ".join(entry.tags),
        "source": entry.source,
        "when": watch_words(entry.when) if entry.when else "",
        "cites": ", ".join(entry.files),
        "stale": entry.stale,
        "note": entry.note,
        **{str(key): str(value) for key, value in entry.extra.items()},
    }
    table = grid(("", ""))
    table.show_header = False
    for name, value in facts.items():
        if value:
            table.add_row(text(name, "dim"), text(value, STYLES.get(value, "")))
    head = text(entry.id, "bold cyan")
    head.append(f"  {entry.section}", "dim")
    parts: list[RenderableType] = [head, text(entry.content), "", table]
    if entry.output:
        parts += ["", *(text(f"│ {line}", "dim") for line in entry.output.splitlines())]
    show(environment, *parts)


def _steps(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return ("step " if len(numbers) == 1 else "steps ") + ", ".join(map(str, numbers))


def watch_words(when: Mapping[str, Any]) -> str:
    """A watch on one line.

    >>> watch_words({"command": ["npm test*", "yarn test*"], "times": 2})
    'command npm test* | yarn test* · times 2'
    """
    said = []
    for key, value in when.items():
        if isinstance(value, (list, tuple)):
            said.append(f"{key} {' | '.join(map(str, value))}")
        else:
            said.append(key if value is True else f"{key} {value}")
    return " · ".join(said)
