"""`pmem eval tau2`: tau2-bench with an arm, into a results folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.trials import (
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
    from pmem.evaluation.results import Results

#: So many broken trials on end, and the run stops.
IN_A_ROW = 3


@click.command(
    short_help="Run tau2-bench with memory.",
    epilog="""\b
Examples:
  pmem eval tau2 --arm off --action-model anthropic:claude-sonnet-4-5 \\
      --to results/off --dry-run
  pmem eval tau2 --arm selective --pure --interval 1 \\
      --action-model anthropic:claude-sonnet-4-5 \\
      --memory-model anthropic:claude-opus-4-6 --domain airline --to pure
  pmem eval tau2 … --to pure --resume

Needs ./install.sh --with tau2, for the arm mem0 --with mem0 too. Keys are those that litellm and
pmem read (ANTHROPIC_API_KEY, OPENAI_API_KEY, …); a model may also have litellm's own name. Every
finished trial is written at once: --resume goes on, whatever ended the run. A trial that broke (no
network, a busy provider) is told, not written, and run again. What is sent is the benchmark's,
nothing of your projects.""",
)
@trial_options(200, "Steps of a trial")
@click.option(
    "--user-model",
    default="openai:gpt-4.1",
    show_default=True,
    metavar="NAME",
    help="The model that plays the user.",
)
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME",
    help="airline, retail, telecom (all three by default), or mock; may be given several times.",
)
@click.option(
    "-n",
    "--concurrent",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Trials at once.",
)
@click.pass_obj
def tau2(
    environment: Environment,
    /,
    user_model: str,
    domains: tuple[str, ...],
    concurrent: int,
    **options: Any,
) -> int:
    """Run tasks of tau2-bench with an arm of memory; `pmem eval table` then shows the figures."""
    from pmem.evaluation.tau2_bench import version

    what = asked(**options)
    with refusals():
        installed = dict([version()])
        chosen = _tasks(domains, what.tasks)
        config = what.config("tau2", chosen, {"user_model": user_model})
        if what.dry_run:
            return price(environment, config, user=True)
        try_memory(environment, what, config)
    with begun(environment, what, config, installed) as results:
        return _run(environment, results, user_model, what.urls, concurrent)


def _run(
    environment: Environment,
    results: Results,
    user_model: str,
    urls: Mapping[str, str],
    concurrent: int,
) -> int:
    from pmem.cli.at_once import each
    from pmem.evaluation.played import CannotGoOn
    from pmem.evaluation.tau2_bench import run_trial

    run = partial(
        run_trial,
        results,
        user_model=user_model,
        env=environment.env,
        prices=prices_of(environment),
        base_url=urls["memory_url"],
        embedder_url=urls["embedder_url"],
    )
    left = results.missing()
    row = 0
    outcomes = each(left, run, concurrent)
    for at in range(1, len(left) + 1):
        where = f"{at} of {len(left)}"
        try:
            (domain, task, n), result = next(outcomes)
            where += f", {domain} {task}, trial {n + 1}"
            trial = result()
        except KeyboardInterrupt:
            raise Trouble("stopped", "--resume goes on", Exit.INTERRUPTED) from None
        except CannotGoOn as error:
            raise Trouble(f"{where}: {error}", "--resume goes on") from error
        except Exception as error:
            # A provider's trouble comes as any class there is; the other trials can still be run.
            row += 1
            environment.say(f"{where}: broke, {type(error).__name__}: {str(error)[:200]}")
            if row == IN_A_ROW:
                raise Trouble(f"{row} trials in a row broke", "--resume goes on") from error
        else:
            row = 0
            spoke = f", spoke in {trial.spoke} of {trial.points} calls" if trial.points else ""
            environment.say(f"{where}: reward {trial.reward:g}{spoke}")
    return tally(environment, results, len(left))


def _tasks(domains: Sequence[str], wanted: Sequence[str]) -> dict[str, list[str]]:
    """The tasks by domain. Raises ValueError naming a domain or a task that is not there."""
    from pmem.evaluation.tau2_bench import DOMAINS, task_ids

    chosen: dict[str, list[str]] = {}
    for domain in domains or DOMAINS:
        if domain not in (*DOMAINS, "mock"):
            raise ValueError(
                f"tau2-bench has no domain {domain!r}; there are airline, retail, telecom and mock"
            )
        known = task_ids(domain)
        chosen[domain] = [task for task in known if task in wanted] if wanted else known
    found = {task for tasks in chosen.values() for task in tasks}
    if unknown := [task for task in wanted if task not in found]:
        raise ValueError(f"there is no task {unknown[0]} in {', '.join(chosen)}")
    return chosen
