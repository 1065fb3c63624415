"""`pmem train export`: recorded decisions of a model as a data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option, json_option
from pmem.cli.train_sources import bar, labelled_runs, named, stopping
from pmem.cli.words import count

if TYPE_CHECKING:
    from pmem.evaluation.dataset import Run
    from pmem.training.export import Exported


@click.command(
    short_help="Recorded decisions of a model as a data set for fine-tuning.",
    epilog="""\b
Examples:
  pmem train export -o data                      this project's sessions
  pmem train export 20261130-114207 -o data      one of them
  pmem train export calls -o data                replays kept by --prompts-to
  pmem train export calls --dataset DIR -o data  where labels agree with them
  pmem train export calls --all -o data          everything that can be read

DIR then holds train.jsonl, validation.jsonl and README.md, a card that says what is in them.
Secrets are taken out, and nothing is sent anywhere. Stopped with Ctrl-C, the same command goes
on.""",
)
@click.argument("sessions", metavar="[SESSION|DIR]…", nargs=-1)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where to write it; a data set of an earlier export there is replaced.",
)
@click.option(
    "--dataset",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Labelled recordings: replays of their runs are judged by the labels, and what was played "
    "over them (labels/played_decisions.jsonl) is exported too.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Keep what was not followed or not judged, too.",
)
@click.option(
    "--validation",
    "share",
    type=click.FloatRange(0, 0.9),
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="The share of tasks that is for validation.",
)
@json_option
@directory_option
@click.pass_obj
def export(
    environment: Environment,
    sessions: tuple[str, ...],
    output: Path,
    dataset: Path | None,
    everything: bool,
    share: float,
    as_json: bool,
    directory: str | None,
) -> None:
    """Write the memory steps of SESSIONs (ids), or of directories that hold sessions or replays, as
    rows of `messages` and `tools`; by default those of all sessions here.

    Only steps that were right as far as can be told: reminders that were delivered and followed,
    silences after which no failure came back, or what the labels agree with.
    """
    from pmem.cli.project import project_of, settings_of
    from pmem.cli.tables import write_json
    from pmem.training.export import export as write
    from pmem.training.sources import sources_in

    project = project_of(environment, directory)
    secrets = settings_of(environment, project, {}).secrets
    runs = labelled_runs(environment, dataset)
    folder = free(environment.cwd / output.expanduser())
    with TemporaryDirectory(prefix="pmem-train-") as scratch:
        places = named(environment, directory, sessions, nothing=dataset is not None)
        if dataset is not None:
            places += replayed(environment, environment.cwd / dataset, runs, Path(scratch))
        found = sources_in(places, runs)
        if not found:
            raise Trouble(
                "no call of a model is on record there",
                "name sessions that a model played in, or a directory of pmem replay --prompts-to",
                Exit.MISSING,
            )
        with (
            stopping("the same command goes on from what is done"),
            bar(environment, len(found), "reading") as one_more,
        ):
            done = write(
                found,
                folder,
                secrets=secrets,
                everything=everything,
                share=share,
                progress=one_more,
            )
    if as_json:
        write_json(environment, done.to_json())
    else:
        _told(environment, done, folder)


def free(folder: Path) -> Path:
    """A directory that may be written: a new one, or one of an earlier export. Raises Trouble."""
    from pmem.training.export import PARTS, TRAIN

    ours = any((folder / name).exists() for name in (TRAIN, PARTS))
    if not ours and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Trouble(f"{folder} holds something else", "name a new one with -o", Exit.USAGE)
    return folder


def replayed(
    environment: Environment, dataset: Path, runs: Mapping[str, Run], scratch: Path
) -> list[Path]:
    """What was played over a dataset's runs, played again into a directory of each run's name."""
    from pmem.training.played import FILE, play_again

    if not (dataset / FILE).exists():
        return []
    with stopping("nothing is written yet"), bar(environment, len(runs), "playing") as one_more:
        for run in runs.values():
            play_again(dataset, run, scratch / run.id)
            one_more()
    return [scratch]


def _told(environment: Environment, done: Exported, folder: Path) -> None:
    from pmem.cli.tables import grid, show, text
    from pmem.training.card import bars

    told = done.to_json()
    kinds = ", ".join(count(n, kind) for kind, n in sorted(told["kinds"].items()))
    rows = count(told["rows"], "row")
    show(environment, text(f"{rows} from {count(told['sources'], 'source')}: {kinds or 'none'}"))
    show(
        environment,
        text(
            f"{told['train']} for training, {told['validation']} for validation, "
            f"{count(told['tasks'], 'task')} on one side each"
        ),
    )
    if told["left_out"]:
        table = grid(("left out", "steps"), right=("steps",))
        for why, n in told["left_out"].items():
            table.add_row(text(why), str(n))
        show(environment, text(""), table)
    if told["rows"]:
        show(environment, text(""), text("tokens a row (estimated)", "bold"))
        environment.write(bars(told["tokens"]).rstrip("\n"))
    environment.say(f"written: {folder}")
