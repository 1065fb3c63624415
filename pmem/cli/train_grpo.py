"""`pmem train grpo`: an open model learns when to speak from what its decisions are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import json_option
from pmem.cli.train_sft import drawn, free
from pmem.cli.train_sources import stopping
from pmem.cli.words import count
from pmem.extra import how_to_install

if TYPE_CHECKING:
    from pmem.training.grounds import Grounds
    from pmem.training.grpo import Options
    from pmem.training.policies import Earned

#: What the table tells of a side, and how it is called there.
FIGURES = {
    "rows": "pivots",
    "reward": "mean reward",
    "valid": "both phases in form",
    "agreement": "decided rightly",
    "silent_agreement": "… were it always silent",
    "precision": "precision of speaking",
    "recall": "recall of speaking",
}


@click.command(
    short_help="Let an open model learn when to speak.",
    epilog="""\b
Examples:
  pmem train grpo --data DIR --check
                                what simple policies would earn; without a GPU
  pmem train grpo --model tuned --data DIR -o learned
                                from a model of pmem train sft
  pmem train grpo --model tuned --data DIR -o learned --resume
                                go on after Ctrl-C

--data: labelled recordings, or a directory of sessions, judged by what came of them. OUT then holds
the model; pivots.jsonl, what it was trained on; grpo.json and reward.svg, what came of it. Needs
the extra train (TRL and torch): ./install.sh --with train.""",
)
@click.option(
    "--model", metavar="DIR|NAME", help="The model to begin with: one that pmem train sft made."
)
@click.option(
    "--data",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Labelled recordings, or sessions.",
)
@click.option(
    "--output",
    "-o",
    metavar="OUT",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write the model.",
)
@click.option(
    "--check", is_flag=True, help="Train nothing: tell what simple and honest policies would earn."
)
@click.option(
    "--rewards",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A table [weights] in TOML, over pmem's own.",
)
@click.option("--full", is_flag=True, help="Train all weights, not adapters.")
@click.option(
    "--rank",
    type=click.IntRange(1, 1024),
    default=16,
    show_default=True,
    metavar="N",
    help="The rank of the adapters.",
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="RATE",
    help="1e-5 by default, 1e-6 with --full.",
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="Updates.",
)
@click.option(
    "--turns",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    metavar="N",
    help="Pivots an update.",
)
@click.option(
    "--generations",
    type=click.IntRange(2),
    default=8,
    show_default=True,
    metavar="N",
    help="How often each of them is played in it.",
)
@click.option(
    "--at-once",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    metavar="N",
    help="Of all these, how many are in memory together.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=8192,
    show_default=True,
    metavar="N",
    help="A pivot with a longer opening is left out.",
)
@click.option(
    "--max-answer",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    metavar="N",
    help="Tokens of both phases together, results of tools among them.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(0, 2, min_open=True),
    default=1.0,
    show_default=True,
    metavar="T",
    help="How freely it plays.",
)
@click.option("--vllm", is_flag=True, help="Let vLLM play, as TRL does it.")
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="For the order of turns, what is sampled, and adapters.",
)
@click.option("--resume", is_flag=True, help="Go on with a training that was stopped.")
@json_option
@click.pass_obj
def grpo(
    environment: Environment,
    model: str | None,
    data: Path,
    output: Path | None,
    check: bool,
    rewards: Path | None,
    full: bool,
    rank: int,
    learning_rate: float | None,
    steps: int,
    turns: int,
    generations: int,
    at_once: int,
    max_tokens: int,
    max_answer: int,
    temperature: float,
    vllm: bool,
    seed: int,
    resume: bool,
    as_json: bool,
) -> None:
    """Train a model where it matters whether memory speaks: at the turns of recorded runs that went
    on to another end with a reminder than without, or where policies and labels disagree.

    It plays each such turn several times, with its tools carried out on a bank; what earned more
    than the others becomes likelier. What it earns is measured before and after, on runs of other
    tasks too.
    """
    from pmem.cli.project import project_of, settings_of
    from pmem.cli.tables import write_json
    from pmem.core.redact import redactor
    from pmem.training.rewards import load_weights

    if not check and (model is None or output is None):
        raise Trouble("training needs --model and -o", "or look first: --check", Exit.USAGE)
    with stopping("nothing is written yet"):
        weights = load_weights(environment.cwd / rewards if rewards else None)
        redact = redactor(settings_of(environment, project_of(environment, None), {}).secrets)
        grounds = _gathered(environment, data, redact)
    if check:
        with stopping("nothing is written yet"):
            earned = _checked(grounds, weights)
        if as_json:
            write_json(
                environment,
                {on: {row.policy: row.to_json() for row in rows} for on, rows in earned.items()},
            )
        else:
            _earned(environment, earned)
        return
    assert model is not None and output is not None
    from pmem.session.arm import PROMPTS
    from pmem.store.places import beside_config
    from pmem.training.grpo import Options

    local = environment.cwd / Path(model).expanduser()
    options = Options(
        model=str(local) if local.is_dir() else model,
        weights=weights,
        prompts=str(beside_config(environment.env, PROMPTS) or ""),
        rank=0 if full else rank,
        learning_rate=learning_rate or 0.0,
        steps=steps,
        turns=turns,
        generations=generations,
        at_once=at_once,
        max_tokens=max_tokens,
        max_answer=max_answer,
        temperature=temperature,
        vllm=vllm,
        seed=seed,
    )
    told = _trained(environment, options, grounds, output, resume, redact)
    if as_json:
        write_json(environment, told)
    else:
        _told(environment, told)
    environment.say(f"written: {output}")


def _gathered(environment: Environment, data: Path, redact: Callable[[str], str]) -> Grounds:
    """The runs and pivots of a directory, with a bar. Raises Trouble."""
    from pmem.training.grounds import gather

    with drawn(environment, "finding pivots") as progress:
        done = [0, 0]

        def begin(total: int) -> None:
            done[1] = total

        def one_more() -> None:
            done[0] += 1
            progress(done[0], done[1], None)

        try:
            found = gather(
                environment.cwd / data.expanduser(), redact=redact, begin=begin, progress=one_more
            )
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise Trouble(f"cannot read {data}: {why}", code=Exit.USAGE) from None
    if not found.pivots:
        raise Trouble(
            f"there is no pivot in {data}",
            "record more sessions, or name labelled recordings",
            Exit.MISSING,
        )
    return found


def _checked(grounds: Grounds, weights: Mapping[str, float]) -> dict[str, list[Earned]]:
    from pmem.training.policies import check

    return check(grounds.pivots, grounds.runs, grounds.folder, weights)


def _trained(
    environment: Environment,
    options: Options,
    grounds: Grounds,
    output: Path,
    resume: bool,
    redact: Callable[[str], str],
) -> dict[str, Any]:
    """Train, with a bar. Raises Trouble."""
    from pmem.training.grpo import TOLD, train
    from pmem.training.open_model import NoTrainer

    out = free(environment.cwd / output.expanduser(), resume=resume, told=TOLD)
    try:
        with (
            stopping("the same command with --resume goes on from there"),
            drawn(environment, "learning", "reward") as progress,
        ):
            return train(
                options, grounds.sides, out, resume=resume, progress=progress, redact=redact
            )
    except NoTrainer:
        raise Trouble(
            "training needs TRL and torch",
            f"install them: {how_to_install('train', 'trl==1.16.0 peft')}",
        ) from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise Trouble(f"cannot write {out}: {why}", "make room, or name another -o") from None


def _earned(environment: Environment, earned: Mapping[str, Sequence[Earned]]) -> None:
    from pmem.cli.tables import grid, show, text

    for on, rows in earned.items():
        where = "all runs" if on == "all" else "runs that a model was played over"
        columns = (f"{where}, {count(rows[0].turns, 'pivot')}", "mean reward", "spoke")
        table = grid(columns, right=columns[1:])
        for row in rows:
            style = "bold" if row.honest else ""
            table.add_row(text(row.policy, style), f"{row.mean:+.3f}", str(row.spoke))
        show(environment, table, text(""))
        simple = max((row for row in rows if not row.honest), key=lambda row: row.mean)
        least = min((row for row in rows if row.honest and row.spoke), key=lambda row: row.mean)
        if simple.mean >= least.mean:
            environment.say(f"{simple.policy} earns as much as {least.policy}: weigh otherwise")


def _told(environment: Environment, told: Mapping[str, Any]) -> None:
    from pmem.cli.tables import grid, show, text

    course = told["reward"]
    ends = f", reward {course[0][1]:.3f} → {course[-1][1]:.3f}" if course else ""
    pivots = count(told["pivots"]["training"], "pivot")
    show(environment, text(f"{pivots}, {count(told['updates'], 'update')}{ends}"))
    columns = ("with its likeliest answers", "trained on", "held out")
    table = grid(columns, right=columns[1:])
    for key, name in FIGURES.items():
        cells = [
            " → ".join(_figure(told[when][side].get(key)) for when in ("before", "after"))
            for side in ("training", "held_out")
        ]
        table.add_row(text(name), *map(text, cells))
    show(environment, text(""), table)


def _figure(value: float | int | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.3f}"
