"""`pmem eval table`: the figures of results folders, beside each other and the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import json_option

if TYPE_CHECKING:
    from pmem.evaluation.table import Figures

#: Cells that the table takes, with names of 9, and what goes first where there is less room.
_WIDTH = 76
_FIRST_OUT = (("95 %", 11), ("paper", 7), ("trials", 8), ("silence", 9), ("$/solved", 10))
#: Cells of a domain with the paper's figure in brackets.
_DOMAIN = 14
_FOLDER = click.Path(path_type=Path)


@click.command(
    short_help="Compare the results of benchmark runs.",
    epilog="""\b
Examples:
  pmem eval table results/off results/selective
  pmem eval table results/* --plot pass.svg
  pmem eval table results/* --json

A folder has config.json, trials.jsonl and decisions/. pass@1 comes with Wilson's interval of 95 %,
"gain" in points over the first folder of the arm off (or --base) on the trials both have, with
McNemar's exact p. "silence" is of the calls that memory could speak before, "$/solved" the price of
both models. A trial that broke counts as not solved.""",
)
@click.argument("folders", metavar="DIR", nargs=-1, required=True, type=_FOLDER)
@click.option("--base", type=_FOLDER, metavar="DIR", help="The folder to compare with.")
@click.option("--plot", type=_FOLDER, metavar="FILE", help="Draw pass@1 as SVG there.")
@json_option
@click.pass_obj
def table(
    environment: Environment,
    folders: tuple[Path, ...],
    base: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Show pass@1 of each results folder, overall and by domain, beside the paper's own figures."""
    from pmem.cli.tables import write_json
    from pmem.evaluation.plot import svg
    from pmem.evaluation.results import load
    from pmem.evaluation.table import figures

    try:
        loaded = [load(environment.cwd / folder) for folder in folders]
        against = load(environment.cwd / base) if base is not None else None
        rows = figures(loaded, against)
    except ValueError as error:
        raise Trouble(str(error), code=Exit.USAGE) from error
    if plot is not None:
        try:
            (environment.cwd / plot).write_text(svg(rows), encoding="utf-8")
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise Trouble(f"cannot write {plot}: {why}", "name another file") from error
    if as_json:
        write_json(environment, [row.to_json() for row in rows])
        return
    _tables(environment, rows)
    if plot is not None:
        environment.say(f"drawn in {plot}")


def _tables(environment: Environment, rows: Sequence[Figures]) -> None:
    from pmem.cli.tables import grid, show, text
    from pmem.evaluation.paper import title
    from pmem.evaluation.table import together

    for mine in together(rows):
        config = mine[0].results.config
        show(environment, text(f"{title(config.benchmark)}, {config.action_model}", "bold"))
        left_out = _left_out(environment.columns)
        columns = [name for name in _cells(mine[0]) if name not in left_out]
        whole = grid(("", *columns), right=columns)
        for row in mine:
            cells = _cells(row)
            whole.add_row(text(row.name), *(cells[name] for name in columns))
        show(environment, whole)
        names = sorted({name for row in mine for name in row.domains})
        if names != [""]:
            show(environment, text(""))
            _domains(environment, mine, names)
        for row in mine:
            _remarks(environment, row)
        show(environment, text(""))


def _cells(row: Figures) -> dict[str, str]:
    share, paired = row.whole, row.paired
    return {
        "trials": str(share.trials),
        "pass@1": f"{share.passed:.1f}",
        "95 %": _range(share.interval),
        "paper": _number(row.beside.weighted if row.beside else None),
        "gain": f"{paired.gain:+.1f}" if paired else "base" if row.base else "–",
        "p": _p(paired.p) if paired else "–",
        "silence": _number(row.silence, ".3f"),
        "$/solved": _number(row.per_solved, ".2f"),
    }


def _left_out(room: int) -> set[str]:
    """The columns that a terminal has no room for: no figure is ever cut."""
    names = set()
    width = _WIDTH
    for name, cells in _FIRST_OUT:
        if width > room:
            names.add(name)
            width -= cells
    return names


def _domains(environment: Environment, rows: Sequence[Figures], names: Sequence[str]) -> None:
    """pass@1 by domain with the paper's in brackets, and both averages."""
    from pmem.cli.tables import grid, show, text
    from pmem.core.text import clean

    columns = ("by domain", *map(clean, names), "macro", "by task")
    table = grid(columns, right=columns[1:])
    bare = environment.columns < len(columns[0]) + _DOMAIN * (len(columns) - 1)
    for row in rows:
        paper = None if bare else row.beside
        cells = [
            _beside(row.domains[n].passed, paper.passed.get(n) if paper else None)
            if n in row.domains
            else "–"
            for n in names
        ]
        table.add_row(
            text(row.name),
            *cells,
            _beside(row.macro, paper.macro if paper else None),
            _beside(row.whole.passed, paper.weighted if paper else None),
        )
    show(environment, table)
    if any(row.beside for row in rows) and not bare:
        show(environment, text("in brackets: the paper", "dim"))


def _remarks(environment: Environment, row: Figures) -> None:
    from pmem.cli.tables import show, text

    wanted, done = row.results.config.trials, row.whole.trials
    if done < wanted:
        show(environment, text(f"{row.name}: {done} of {wanted} trials are finished", "magenta"))
    if row.broken:
        show(environment, text(f"{row.name}: {row.broken} broke, counted as not solved", "magenta"))


def _beside(ours: float, paper: float | None) -> str:
    return f"{ours:.1f}" if paper is None else f"{ours:.1f} ({paper:.1f})"


def _range(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.1f}–{ends[1]:.1f}"


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _number(value: float | None, form: str = ".1f") -> str:
    return "–" if value is None else format(value, form)
