"""`pmem train gate`: learned from recorded work when to be quiet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option, json_option
from pmem.cli.train_sources import bar, labelled_runs, named, stopping
from pmem.extra import how_to_install

#: What a gate learns, as its table calls it.
NAMES = {"calls": "model calls", "model": "model reminders", "rules": "rule reminders"}


@click.command(
    short_help="Learn from your sessions when to be quiet.",
    epilog="""\b
Examples:
  pmem train gate -o gate.json                from this project's sessions
  pmem train gate -o gate.json --dataset DIR  from labelled recordings
  pmem config gate "$PWD/gate.json"           use it here
  pmem config gate ""                         and no longer

Needs the extra gate (scikit-learn): ./install.sh --with gate. Using the file needs nothing.""",
)
@click.argument("sessions", metavar="[SESSION|DIR]…", nargs=-1)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write it.",
)
@click.option(
    "--dataset",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Labelled recordings to learn from.",
)
@click.option(
    "--keep",
    type=click.FloatRange(0.5, 1),
    default=0.8,
    show_default=True,
    metavar="SHARE",
    help="The share of reminders and calls that were worth it which shall be let through.",
)
@json_option
@directory_option
@click.pass_obj
def gate(
    environment: Environment,
    sessions: tuple[str, ...],
    output: Path,
    dataset: Path | None,
    keep: float,
    as_json: bool,
    directory: str | None,
) -> None:
    """Learn from SESSIONs (ids, or directories that hold some; by default all of this project)
    which reminders and which calls of a model were worth it: a gate that can only keep pmem quiet.

    A reminder was worth it if it was followed and nobody called it noise (pmem wrong), a call if a
    reminder that was followed or a failure that came back lies just ahead. A part that does not
    help on sessions it was not learned from is left out.
    """
    from pmem.cli.tables import write_json
    from pmem.store.gate_file import save_gate
    from pmem.store.session_log import STEPS
    from pmem.training.examples import of_run, of_session
    from pmem.training.gate import teach
    from pmem.training.learn import NoLibrary

    runs = labelled_runs(environment, dataset)
    places = named(environment, directory, sessions, nothing=dataset is not None)
    folders = sorted({path.parent for place in places for path in place.rglob(STEPS)})
    if not folders and not runs:
        raise Trouble("no session is on record here", "start with: pmem run CMD", Exit.MISSING)
    examples = []
    with (
        stopping("nothing is written yet"),
        bar(environment, len(folders) + len(runs), "reading") as one_more,
    ):
        for run in runs.values():
            assert dataset is not None
            examples += of_run(run, environment.cwd / dataset)
            one_more()
        for folder in folders:
            examples += of_session(folder)
            one_more()
    try:
        taught = teach(examples, keep=keep)
    except NoLibrary:
        raise Trouble(
            "learning needs scikit-learn",
            f"install it: {how_to_install('gate', 'scikit-learn')}",
        ) from None
    told = taught.to_json()
    if not as_json:
        _learned(environment, told)
    if not taught.gate.speak and taught.gate.ask is None:
        environment.say("nothing was learned that helps: no gate is written")
    else:
        save_gate(environment.cwd / output.expanduser(), taught.gate, told)
        environment.say(f"written: {output}; to use it: pmem config gate FILE")
    if as_json:
        write_json(environment, told)


def _learned(environment: Environment, told: Mapping[str, Any]) -> None:
    """A gate on runs it was not learned from, in a table."""
    from pmem.cli.tables import grid, show, text

    columns = ("on runs left out", "without", "with", "precision", "good ones kept")
    table = grid(columns, right=columns[1:])
    for name, title in NAMES.items():
        found = told[name]
        change = f"{_figure(found['precision_without'])} → {_figure(found['precision_with'])}"
        table.add_row(
            text(title),
            str(found["without"]),
            str(found["with"]),
            text(change),
            text(_figure(found["kept_of_good"])),
        )
    show(environment, table)
    for name, title in NAMES.items():
        if not told[name]["used"]:
            show(environment, text(f"{title} are let through as ever; {told[name]['why']}", "dim"))


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
