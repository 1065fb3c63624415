"""`pmem train`: what recorded work teaches a memory agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option, json_option
from pmem.cli.words import count

if TYPE_CHECKING:
    from pmem.evaluation.dataset import Run
    from pmem.training.export import Exported


@click.group(short_help="Learn from recorded work when to speak.")
def train() -> None:
    """Turn recorded work into data for a memory agent."""


@train.command(
    short_help="Recorded decisions of a model as a data set for fine-tuning.",
    epilog="""\b
Examples:
  pmem train export -o data                       this project's sessions
  pmem train export 20261130-114207 calls -o data a session, and replays kept by --prompts-to
  pmem train export calls --dataset DIR -o data   replays of labelled runs, where the labels agree
  pmem train export calls --all -o data           everything that can be read

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


def named(
    environment: Environment, directory: str | None, sessions: Iterable[str], *, nothing: bool
) -> list[Path]:
    """The directories that were named, as paths or as sessions' ids; if none was, all sessions of
    the project, or `nothing`. Raises Trouble for a name that fits none."""
    from pmem.cli.log import find_session
    from pmem.cli.project import project_of
    from pmem.store.sessions import list_sessions

    project = project_of(environment, directory)
    places = []
    for name in sessions:
        place = find_session(environment, project, name, follow=False)
        assert place is not None
        places.append(place if place.is_dir() else place.parent)
    if not places and not nothing:
        places = [session.path for session in list_sessions(project)]
    return places


def labelled_runs(environment: Environment, dataset: Path | None) -> Mapping[str, Run]:
    """The runs of a dataset by their ids, none without one. Raises Trouble (2)."""
    from pmem.evaluation.dataset import load_dataset

    if dataset is None:
        return {}
    try:
        return {run.id: run for run in load_dataset(environment.cwd / dataset)}
    except ValueError as error:
        raise Trouble(str(error), code=Exit.USAGE) from error


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


@contextmanager
def bar(environment: Environment, length: int, what: str) -> Iterator[Callable[[], None]]:
    """A progress bar on a terminal, and what is to be called when one more is done."""
    if not environment.stderr_isatty or not length:
        yield lambda: None
        return
    with click.progressbar(
        length=length, label=f"pmem: {what}", file=environment.stderr, show_pos=True, width=24
    ) as shown:
        yield lambda: shown.update(1)


@contextmanager
def stopping(next: str) -> Iterator[None]:
    """Around work that takes long: Ctrl-C ends it with a word, and so does a bad input."""
    try:
        yield
    except KeyboardInterrupt:
        raise Trouble("stopped by Ctrl-C", next, Exit.INTERRUPTED) from None
    except ValueError as error:
        raise Trouble(str(error), code=Exit.USAGE) from None


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
