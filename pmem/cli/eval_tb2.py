"""`pmem eval tb2`: Terminal-Bench 2.0 on Harbor with an arm, into a results folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.trials import (
    Asked,
    asked,
    begun,
    price,
    prices_of,
    refusals,
    tally,
    trial_options,
    try_memory,
)

if TYPE_CHECKING:
    from pmem.evaluation.harbor_job import Agent

#: Says to the interpreter that was found that it is the one.
FOUND = "PMEM_HARBOR_FOUND"
#: Versions of Harbor that it was made with.
TRIED = "0.26."
#: What of `harbor run` is said by options of ours.
OURS = {
    *("-a", "--agent", "-m", "--model", "-c", "--config", "-d", "--dataset", "-p", "--path"),
    *("-k", "--n-attempts", "-o", "--jobs-dir", "--job-name", "-i", "--include-task-name"),
}


@click.command(
    short_help="Run Terminal-Bench 2.0 on Harbor with memory.",
    epilog="""\b
Examples:
  pmem eval tb2 --arm off --action-model anthropic:claude-sonnet-4-5 \\
      --to results/off --dry-run
  pmem eval tb2 --arm selective --pure --interval 1 \\
      --action-model anthropic:claude-sonnet-4-5 \\
      --memory-model anthropic:claude-opus-4-6 --to results/pure -n 8
  pmem eval tb2 … --env daytona -n 32 -- --override-cpus 2
  pmem eval tb2 … --agent mini-swe-agent --reach 172.17.0.1
  pmem eval tb2 … --to results/pure --resume

Needs Harbor 0.26 with Python 3.12 or newer: ./install.sh --with harbor, or an interpreter that has
pmem and Harbor, named by PMEM_HARBOR_PYTHON or found on PATH. What follows -- goes to `harbor run`
as it is. The agent is Terminus 2 with memory inside, or with --agent one of Harbor's own, whose
model's traffic goes through pmem's proxy. Keys are those that litellm and pmem read. Every finished
trial is written at once: the same command with --resume goes on, whatever ended the run. A trial
that broke is run again then. What is sent is the benchmark's, nothing of your projects.""",
)
@trial_options(50, "Turns of Terminus 2")
@click.option("--agent", default="", metavar="NAME", help="One of Harbor's agents, by the proxy.")
@click.option(
    "--reach",
    default="",
    metavar="HOST",
    help="How environments reach this machine, for an agent that runs inside them.",
)
@click.option(
    "--path",
    type=click.Path(path_type=Path, exists=True),
    metavar="DIR",
    help="Your own tasks, or one of them, instead.",
)
@click.option(
    "--parser",
    type=click.Choice(["xml", "json"]),
    default="xml",
    show_default=True,
    help="How Terminus 2 answers.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0),
    default=40,
    show_default=True,
    metavar="N",
    help="For the agent, at most; 0 for each task's own.",
)
@click.option(
    "-n",
    "--concurrent",
    type=click.IntRange(min=1),
    metavar="N",
    help="Trials at once; Harbor's own number by default.",
)
@click.option(
    "--env",
    "place",
    metavar="NAME",
    help="Where Harbor runs them: docker (its own choice), daytona, modal, e2b, …",
)
@click.argument("harbor", nargs=-1, metavar="[HARBOR-ARGS…]")
@click.pass_context
def tb2(
    ctx: click.Context,
    /,
    agent: str,
    reach: str,
    path: Path | None,
    parser: str,
    minutes: float,
    concurrent: int | None,
    place: str | None,
    harbor: tuple[str, ...],
    **options: Any,
) -> int:
    """Run Terminal-Bench 2.0 with an arm of memory; `pmem eval table` then shows the figures."""
    from pmem.evaluation.harbor_job import Agent

    environment: Environment = ctx.obj
    if agent:
        for name, field in (("turns", 0), ("action_temperature", None), ("parser", "")):
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                said = name.replace("_", "-")
                raise Trouble(
                    f"--{said} is for Terminus 2; {agent} has options of its own: -- --ak …",
                    code=Exit.USAGE,
                )
            if name != "parser":
                options[name] = field
    elif reach:
        raise Trouble("--reach goes with --agent", code=Exit.USAGE)
    if theirs := [word for word in harbor if word.partition("=")[0] in OURS]:
        raise Trouble(f"{theirs[0]} is said by an option of pmem eval tb2", code=Exit.USAGE)
    what = asked(**options)
    if path is not None and what.tasks and (path / "task.toml").is_file():
        raise Trouble(f"{path} is one task; --tasks chooses among several", code=Exit.USAGE)
    given = [*(("-n", str(concurrent)) if concurrent else ()), *(("--env", place) if place else ())]
    player = Agent(agent, parser, minutes or None, reach)
    if what.dry_run:
        from pmem.evaluation.harbor_job import counted

        tasks = counted(path, what.tasks)
        return price(environment, what.config("tb2", {"": tasks}, {}))
    version = _harbor(environment)
    if not version.startswith(TRIED):
        environment.say(f"tried with Harbor {TRIED}x, not with {version}")
    return _run(environment, what, player, path, [*given, *harbor], version)


def _harbor(environment: Environment) -> str:
    """Harbor's version; this process goes on in another interpreter if that is the one with it."""
    from importlib.metadata import PackageNotFoundError, version

    from pmem.cli.program import become
    from pmem.evaluation.harbor_python import NAMED, find

    named = environment.env.get(NAMED)
    if environment.env.get(FOUND) or not named:
        try:
            return version("harbor")
        except PackageNotFoundError:
            pass
    with refusals():
        found = find(environment.env)
    environment.say(f"Harbor {found.version} with {found.python}")
    words = [found.python, "-P", "-m", "pmem", *sys.argv[1:]]
    become(words, {**environment.env, FOUND: "1"}, environment.cwd)


def _run(
    environment: Environment,
    what: Asked,
    player: Agent,
    path: Path | None,
    given: list[str],
    version: str,
) -> int:
    from pmem.evaluation.harbor_job import (
        DATASET,
        SWITCHES,
        Stopped,
        check,
        dataset,
        job,
        run,
        task_names,
    )
    from pmem.evaluation.harbor_trials import clean, collect
    from pmem.evaluation.results import load

    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
    place = path.resolve() if path is not None else None
    chosen = dataset(place, what.tasks)
    extra = {
        "dataset": os.fspath(place) if place is not None else DATASET,
        "agent": player.name or "terminus-2 with memory inside",
        "minutes": player.minutes,
        "harbor": given,
        **({} if player.name else {"parser": player.parser}),
    }
    with refusals():
        _check_folder(environment.cwd / what.folder)
        check(player, what.given["arm"])
        config = what.config("tb2", {"": task_names(chosen)}, extra)
        try_memory(environment, what, config)
    prices = prices_of(environment)
    with begun(environment, what, config, {"harbor": version}) as results:
        collect(results, prices)
        clean(results.folder)
        left = len(results.missing())
        if left:
            told = job(config, results.folder, chosen, player, what.urls)
            try:
                run(results, told, given)
            except KeyboardInterrupt:
                raise Trouble("stopped", "--resume goes on", Exit.INTERRUPTED) from None
            except Stopped as error:
                raise Trouble(str(error), "--resume goes on") from error
            finally:
                results = load(results.folder)
                collect(results, prices)
        return tally(environment, results, left)


def _check_folder(folder: Path) -> None:
    """Raises ValueError where Harbor left something that is none of ours to clear up."""
    from pmem.evaluation.harbor_trials import JOB
    from pmem.evaluation.results import CONFIG

    if (folder / JOB).exists() and not (folder / CONFIG).exists():
        raise ValueError(f"{folder} has {JOB} and no {CONFIG}; name another folder")
