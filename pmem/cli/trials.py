"""What `pmem eval tau2` and `pmem eval tb2` have in common: options, and what is made of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import TRIAL_ARMS, embedder_options
from pmem.cli.words import count

if TYPE_CHECKING:
    from pmem.evaluation.results import Config, Results
    from pmem.models.prices import Prices

F = TypeVar("F", bound=Callable[..., Any])


def trial_options(turns: int, counted: str) -> Callable[[F], F]:
    """The options of a run: `turns` at most by default, `counted` says of what."""
    options = (
        click.option(
            "--arm", type=click.Choice(TRIAL_ARMS), required=True, help="How memory runs."
        ),
        click.option("--pure", is_flag=True, help="The paper's own form of selective."),
        click.option("--action-model", required=True, metavar="NAME", help="The agent's model."),
        click.option(
            "--memory-model", default="", metavar="NAME", help="The memory agent's model."
        ),
        click.option(
            "--memory-url", default="", metavar="URL", help="Its endpoint, if one of your own."
        ),
        embedder_options,
        click.option("--tasks", default="", metavar="IDS", help="Only these, with commas between."),
        click.option(
            "-k", type=click.IntRange(min=1), default=1, metavar="N", help="Trials of each task."
        ),
        click.option(
            "--interval",
            type=click.IntRange(min=1),
            default=5,
            metavar="N",
            help="Memory looks every N steps.",
        ),
        click.option(
            "--window",
            type=click.IntRange(min=1),
            default=8,
            metavar="K",
            help="And sees the last K of them.",
        ),
        click.option(
            "--action-temperature",
            type=float,
            metavar="T",
            default=0.7,
            show_default=True,
            help="Of the agent.",
        ),
        click.option(
            "--memory-temperature", type=float, metavar="T", help="Of memory; 0.3 with --pure."
        ),
        click.option(
            "--turns",
            type=click.IntRange(min=1),
            default=turns,
            show_default=True,
            metavar="N",
            help=f"{counted} at most.",
        ),
        click.option(
            "--to",
            "folder",
            required=True,
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="The results folder.",
        ),
        click.option("--resume", is_flag=True, help="Go on with the run in DIR."),
        click.option("--dry-run", is_flag=True, help="Only say what it would cost."),
    )

    def decorated(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


class Asked(NamedTuple):
    """What was asked of a run: `given` are fields of Config, `extra` is what the arm adds to it,
    `urls` are the endpoints of memory's models."""

    folder: Path
    resume: bool
    dry_run: bool
    tasks: Sequence[str]
    given: Mapping[str, Any]
    extra: Mapping[str, Any]
    urls: Mapping[str, str]

    def config(
        self, benchmark: str, tasks: Mapping[str, Sequence[str]], extra: Mapping[str, Any]
    ) -> Config:
        """What is run."""
        from pmem.evaluation.results import Config

        return Config(benchmark, tasks=tasks, extra={**extra, **self.extra}, **self.given)


def asked(
    *,
    folder: Path,
    resume: bool,
    dry_run: bool,
    tasks: str,
    memory_url: str,
    embedder: str,
    embedder_url: str,
    **given: Any,
) -> Asked:
    """The options put in order. Raises Trouble where they cannot go together."""
    from pmem.evaluation.live import MODEL_ARMS
    from pmem.evaluation.mem0_arm import EMBEDDER
    from pmem.memory.model.style import PURE_TEMPERATURE

    arm = given["arm"]
    if (arm in MODEL_ARMS) != bool(given["memory_model"]):
        what = "needs a --memory-model" if arm in MODEL_ARMS else "has no --memory-model"
        raise Trouble(f"the arm {arm} {what}", code=Exit.USAGE)
    if given["pure"] and arm != "selective":
        raise Trouble(f"pure is a form of the arm selective, not of {arm}", code=Exit.USAGE)
    if (embedder or embedder_url) and arm != "mem0":
        raise Trouble(f"the arm {arm} has no embedder", code=Exit.USAGE)
    extra = {}
    if arm == "mem0":
        extra["embedder"] = embedder or EMBEDDER
        given["interval"] = 1  # it adds every step
    if given["pure"] and given["memory_temperature"] is None:
        given["memory_temperature"] = PURE_TEMPERATURE
    return Asked(
        folder,
        resume,
        dry_run,
        [task.strip() for task in tasks.split(",") if task.strip()],
        given,
        extra,
        {"memory_url": memory_url, "embedder_url": embedder_url},
    )


@contextmanager
def refusals() -> Iterator[None]:
    """What cannot be run, in the user's words: a package that is not there, a wrong option."""
    from pmem.evaluation.harbor_python import NoHarbor
    from pmem.evaluation.played import CannotGoOn
    from pmem.evaluation.tau2_bench import NotThere

    try:
        yield
    except (NotThere, NoHarbor, CannotGoOn) as error:
        raise Trouble(str(error)) from error
    except ValueError as error:
        raise Trouble(str(error), code=Exit.USAGE) from error


def prices_of(environment: Environment) -> Prices:
    """The prices, with those of the user's own."""
    from pmem.models.prices import NAME, load_prices
    from pmem.store.places import beside_config

    return load_prices(beside_config(environment.env, NAME))


def try_memory(environment: Environment, what: Asked, config: Config) -> None:
    """Raises ValueError or CannotGoOn with a sentence for a memory that no trial could have."""
    from pmem.evaluation.live import Remembering, TrialMemory

    how = Remembering(
        config.arm,
        config.memory_model,
        config.pure,
        base_url=what.urls["memory_url"],
        embedder=str(config.extra.get("embedder", "")),
        embedder_url=what.urls["embedder_url"],
    )
    with closing(TrialMemory(how, "", environment.env, prices_of(environment), config.benchmark)):
        pass


@contextmanager
def begun(
    environment: Environment, what: Asked, config: Config, versions: Mapping[str, str]
) -> Iterator[Results]:
    """The results folder, new or gone on with, for this run alone until the end of the block.

    Raises Trouble where it cannot be used, or another run is at work in it.
    """
    from pmem import __version__
    from pmem.evaluation.mem0_arm import version
    from pmem.evaluation.results import begin

    known = {"pmem": __version__, **versions}
    place = environment.cwd / what.folder
    with refusals():
        if config.arm == "mem0":
            known["mem0ai"] = version()
    with _alone(place):
        with refusals():
            results = begin(place, config, known, resume=what.resume)
        yield results


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be; the system lets go of it, whatever ends this process."""
    from pmem.store.files import Busy, lock

    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise Trouble(f"cannot use {folder}: {error.strerror}", "--to names another") from error
    try:
        try:
            lock(held, patience=0)
        except Busy:
            raise Trouble(
                f"another run is at work in {folder}", "wait for its end, or name another folder"
            ) from None
        yield
    finally:
        os.close(held)


def tally(environment: Environment, results: Results, left: int) -> int:
    """What came of a run, and the exit code; `left` trials were to be run."""
    broken = len(results.missing())
    spoke = sum(trial.spoke for trial in results.trials)
    points = sum(trial.points for trial in results.trials)
    solved = sum(trial.solved for trial in results.trials)
    heard = f", memory spoke in {spoke} of {points} calls" if points else ""
    if results.trials:
        environment.say(f"{solved} of {count(len(results.trials), 'trial')} solved{heard}")
    if broken:
        environment.say(f"{broken} of {left} broke; --resume runs them again")
    return Exit.OURS if broken else Exit.OK


def price(environment: Environment, config: Config, *, user: bool = False) -> int:
    """Say what a run would cost; `user` says that a model plays one."""
    from pmem.cli.eval_paper import tell
    from pmem.evaluation.forecast import forecast

    tell(environment, forecast(config, prices_of(environment)), user=user)
    return Exit.OK
