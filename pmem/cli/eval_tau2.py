"""`pmem eval tau2`: tau2-bench with an arm, into a results folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import TRIAL_ARMS, embedder_options

if TYPE_CHECKING:
    from pmem.evaluation.results import Config, Results
    from pmem.models.prices import Prices

#: So many broken trials on end, and the run stops.
IN_A_ROW = 3


@click.command(
    short_help="Run tau2-bench with memory.",
    epilog="""\b
Examples:
  pmem eval tau2 --arm off --action-model anthropic:claude-sonnet-4-5 --to results/off --dry-run
  pmem eval tau2 --arm selective --pure --interval 1 --action-model anthropic:claude-sonnet-4-5
      --memory-model anthropic:claude-opus-4-6 --domain airline --to results/pure
  pmem eval tau2 … --to results/pure --resume

Needs pip install 'pmem[tau2]'. Keys are those that litellm and pmem read (ANTHROPIC_API_KEY,
OPENAI_API_KEY, …); a model may also have litellm's own name. Every finished trial is written at
once: --resume goes on, whatever ended the run. A trial that broke (no network, a busy provider) is
told, not written, and run again. What is sent is the benchmark's, nothing of your projects.""",
)
@click.option("--arm", type=click.Choice(TRIAL_ARMS), required=True, help="How memory runs.")
@click.option("--pure", is_flag=True, help="The paper's own form of selective.")
@click.option("--action-model", required=True, metavar="NAME", help="The agent's model.")
@click.option("--memory-model", default="", metavar="NAME", help="The memory agent's model.")
@click.option("--memory-url", default="", metavar="URL", help="Its endpoint, if one of your own.")
@embedder_options
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
@click.option("--tasks", default="", metavar="IDS", help="Only these, with commas between.")
@click.option("-k", type=click.IntRange(min=1), default=1, metavar="N", help="Trials of each task.")
@click.option(
    "--interval",
    type=click.IntRange(min=1),
    default=5,
    metavar="N",
    help="Memory looks every N steps.",
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=8,
    metavar="K",
    help="And sees the last K of them.",
)
@click.option(
    "--action-temperature",
    type=float,
    metavar="T",
    default=0.7,
    show_default=True,
    help="Of the agent.",
)
@click.option("--memory-temperature", type=float, metavar="T", help="Of memory; 0.3 with --pure.")
@click.option(
    "--turns",
    type=click.IntRange(min=1),
    default=200,
    metavar="N",
    help="Steps of a trial at most.",
)
@click.option(
    "--to",
    "folder",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The results folder.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in DIR.")
@click.option("--dry-run", is_flag=True, help="Only say what it would cost.")
@click.pass_obj
def tau2(
    environment: Environment,
    /,
    arm: str,
    folder: Path,
    resume: bool,
    dry_run: bool,
    user_model: str,
    memory_url: str,
    embedder: str,
    embedder_url: str,
    **asked: Any,
) -> int:
    """Run tasks of tau2-bench with an arm of memory; `pmem eval table` then shows the figures."""
    from pmem.cli.eval_paper import tell
    from pmem.evaluation.forecast import forecast
    from pmem.evaluation.live import MODEL_ARMS
    from pmem.evaluation.mem0_arm import EMBEDDER
    from pmem.evaluation.mem0_arm import version as mem0_version
    from pmem.evaluation.results import begin
    from pmem.evaluation.tau2_bench import NotThere, version
    from pmem.models.prices import NAME, load_prices
    from pmem.store.places import beside_config

    if (arm in MODEL_ARMS) != bool(asked["memory_model"]):
        what = "needs a --memory-model" if arm in MODEL_ARMS else "has no --memory-model"
        raise Trouble(f"the arm {arm} {what}", code=Exit.USAGE)
    if asked["pure"] and arm != "selective":
        raise Trouble(f"pure is a form of the arm selective, not of {arm}", code=Exit.USAGE)
    if (embedder or embedder_url) and arm != "mem0":
        raise Trouble(f"the arm {arm} has no embedder", code=Exit.USAGE)
    try:
        installed = dict([version()])
        extra = {"user_model": user_model}
        if arm == "mem0":
            installed |= {"mem0ai": mem0_version()}
            extra |= {"embedder": embedder or EMBEDDER}
            asked["interval"] = 1  # it adds every step
        config = _config(arm, extra, **asked)
        prices = load_prices(beside_config(environment.env, NAME))
        if dry_run:
            tell(environment, forecast(config, prices), user=True)
            return Exit.OK
        results = begin(environment.cwd / folder, config, _versions(installed), resume=resume)
    except NotThere as error:
        raise Trouble(str(error)) from error
    except ValueError as error:
        raise Trouble(str(error), code=Exit.USAGE) from error
    urls = {"base_url": memory_url, "embedder_url": embedder_url}
    return _run(environment, results, prices, user_model, urls)


def _run(
    environment: Environment,
    results: Results,
    prices: Prices,
    user_model: str,
    urls: Mapping[str, str],
) -> int:
    from pmem.evaluation.played import CannotGoOn
    from pmem.evaluation.tau2_bench import run_trial

    left = results.missing()
    broken = row = 0
    for at, id in enumerate(left, start=1):
        domain, task, n = id
        where = f"{at} of {len(left)}, {domain} {task}, trial {n + 1}"
        try:
            trial = run_trial(
                results,
                id,
                user_model=user_model,
                env=environment.env,
                prices=prices,
                **urls,
            )
        except KeyboardInterrupt:
            raise Trouble("stopped", "--resume goes on", Exit.INTERRUPTED) from None
        except (CannotGoOn, ValueError) as error:
            raise Trouble(f"{where}: {error}", "--resume goes on") from error
        except Exception as error:
            # A provider's trouble comes as any class there is; the other trials can still be run.
            broken += 1
            row += 1
            environment.say(f"{where}: broke, {type(error).__name__}: {str(error)[:200]}")
            if row == IN_A_ROW:
                raise Trouble(f"{row} trials in a row broke", "--resume goes on") from error
        else:
            row = 0
            spoke = f", spoke in {trial.spoke} of {trial.points} calls" if trial.points else ""
            environment.say(f"{where}: reward {trial.reward:g}{spoke}")
    if broken:
        environment.say(f"{broken} of {len(left)} broke; --resume runs them again")
    return Exit.OURS if broken else Exit.OK


def _config(
    arm: str, extra: Mapping[str, str], *, domains: tuple[str, ...], tasks: str, **given: Any
) -> Config:
    """What is run. Raises ValueError naming a domain or a task that is not there."""
    from pmem.evaluation.results import Config
    from pmem.evaluation.tau2_bench import DOMAINS, task_ids
    from pmem.memory.model.style import PURE_TEMPERATURE

    wanted = [task.strip() for task in tasks.split(",") if task.strip()]
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
    if given["pure"] and given["memory_temperature"] is None:
        given["memory_temperature"] = PURE_TEMPERATURE
    return Config("tau2", arm, tasks=chosen, extra=extra, **given)


def _versions(installed: Mapping[str, str]) -> dict[str, str]:
    from pmem import __version__

    return {"pmem": __version__, **installed}
