"""What `pmem train` reads: sessions, replays and datasets, with a bar and a way to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble

if TYPE_CHECKING:
    from pmem.evaluation.dataset import Run


def named(
    environment: Environment, directory: str | None, sessions: Iterable[str], *, nothing: bool
) -> list[Path]:
    """The directories that were named, as paths or as sessions' ids; if none was, all sessions of
    the project, or `nothing`. Raises Trouble for a name that fits none."""
    from pmem.cli.log import find_session
    from pmem.cli.project import project_of
    from pmem.store.session_log import folder_of
    from pmem.store.sessions import list_sessions

    project = project_of(environment, directory)
    places = []
    for name in sessions:
        place = find_session(environment, project, name, follow=False)
        assert place is not None
        places.append(folder_of(place))
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
