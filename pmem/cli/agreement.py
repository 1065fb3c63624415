"""`pmem eval agreement`: our decisions beside recorded ones of other memory agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import json_option
from pmem.cli.playing import model_options, player


@click.command(
    short_help="Our decisions beside recorded ones and the labels.",
    epilog="""\b
Examples:
  pmem eval agreement --dataset DIR
  pmem eval agreement --dataset DIR --arm selective \\
      --model command:./me.sh --prompts-to calls

Beside labels/labels.jsonl the dataset holds labels/paper_decisions.jsonl (the paper's own memory
agent), labels/played_decisions.jsonl (memory played by hand), or both. Reminders count before the
action they concern. Nothing of the dataset is changed.""",
)
@click.option(
    "--dataset",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The recordings with labels and recorded decisions.",
)
@click.option(
    "--arm",
    metavar="ARM",
    help="rules (default) or scripted:FILE; with a model selective, bank, always or advisor.",
)
@model_options
@json_option
@click.pass_obj
def agreement(
    environment: Environment, /, dataset: Path, arm: str | None, as_json: bool, **asked: Any
) -> None:
    """Compare when memory speaks with when others spoke over the same recorded runs.

    Told are agreement and Cohen's kappa per decision point, how often each speaks, and how each
    stands to the labels.
    """
    from pmem.cli.tables import write_json
    from pmem.evaluation.agreement import compare, load_decisions
    from pmem.evaluation.dataset import load_dataset
    from pmem.evaluation.evaluate import evaluate

    try:
        runs = load_dataset(dataset)
        recordings = load_decisions(dataset, runs)
    except ValueError as error:
        raise Trouble(str(error), code=Exit.USAGE) from error
    wanted = [run for run in runs if any(run.id in known for known in recordings.values())]
    plays = player(environment, arm, **asked)
    with plays.telling():
        result = evaluate(plays.name, wanted, plays.of_run, interval=plays.interval)
    plays.tell()
    ours = {id: played.before_steps for id, played in result.replayed.items()}
    found = {
        name: compare(plays.name, wanted, recorded, ours) for name, recorded in recordings.items()
    }
    if as_json:
        write_json(environment, {plays.name: found})
        return
    for name, told in found.items():
        _table(environment, name, told)


def _table(environment: Environment, name: str, told: dict[str, Any]) -> None:
    from pmem.cli.tables import grid, show, text

    columns = (name, "speaks", "recall", "precision", "false alarms", "agrees", "kappa")
    table = grid(columns, right=columns[1:])
    for who, figures in told["labels"].items():
        shown = (told["speaking_rate"][who], *figures.values())
        table.add_row(text(who), *(text("–" if f is None else f"{f:.3f}") for f in shown))
    agreed, kappa = told["agreement"], told["kappa"]
    runs = "1 run" if told["runs"] == 1 else f"{told['runs']} runs"
    line = f"{told['points']} decision points in {runs}"
    if agreed is not None:
        line += f"; the two agree at {agreed:.3f} of them"
        line += f", kappa {kappa:.3f}" if kappa is not None else ""
    show(environment, table, text(line), text(""))
