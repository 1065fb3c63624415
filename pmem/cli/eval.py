"""`pmem eval`: measure a memory agent on recorded runs, and compare runs of benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.agreement import agreement
from pmem.cli.environment import Environment
from pmem.cli.eval_paper import paper
from pmem.cli.eval_table import table
from pmem.cli.eval_tau2 import tau2
from pmem.cli.eval_tb2 import tb2
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import json_option
from pmem.cli.playing import players, several_models

if TYPE_CHECKING:
    from pmem.evaluation.evaluate import Evaluation

#: Steps shown before a label or a false alarm, and characters of each.
BEFORE = 3
SHOWN = 160


@click.group(
    short_help="Measure a memory agent on recorded runs and benchmarks.",
    subcommand_metavar="COMMAND [ARGS]…",
)
def eval() -> None:
    """Measure a memory agent on recorded runs, and compare runs of benchmarks."""


for one in (agreement, table, paper, tau2, tb2):
    eval.add_command(one)


@eval.command(
    short_help="Replay a labelled dataset and score what would have been said.",
    epilog="""\b
Examples:
  pmem eval replay --dataset DIR                the rules, and simple policies
  pmem eval replay --dataset DIR --delivery claude
                                                where Claude Code can hear it
  pmem eval replay --dataset DIR --show misses  the steps around missed labels
  pmem eval replay --dataset DIR --json         {ARM: {"recall": …, …}, …}
  pmem eval replay --dataset DIR --arm bank --model command:./me.sh
                                                a model plays

A dataset is a folder with manifest.jsonl, steps/ID.jsonl and labels/labels.jsonl. Nothing of it
is changed, and nothing is written but with --prompts-to: DIR/ARM/ID then holds the prompts and
answers of each run, and what was answered there is not asked again.""",
)
@click.option(
    "--dataset",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The labelled recordings.",
)
@click.option(
    "--delivery",
    type=click.Choice(["ideal", "claude", "codex", "gemini", "shell"]),
    default="ideal",
    show_default=True,
    help="Where a reminder counts: before the action it concerns, or where that agent hears it.",
)
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="ARM",
    help="off, rules (default), scripted:FILE, or with a model selective, bank, always, "
    "advisor; may be given several times.",
)
@several_models
@click.option(
    "--show",
    type=click.Choice(["misses", "alarms"]),
    help="The steps around each label missed, or each false alarm.",
)
@json_option
@click.pass_obj
def replay(
    environment: Environment,
    /,
    dataset: Path,
    delivery: Any,
    arms: tuple[str, ...],
    show: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Replay every recorded run of a dataset step by step, and score what would have been said."""
    from pmem.cli.tables import write_json
    from pmem.evaluation.dataset import load_dataset
    from pmem.evaluation.evaluate import baselines, evaluate

    try:
        runs = load_dataset(dataset)
    except ValueError as error:
        raise Trouble(str(error), code=Exit.USAGE) from error
    found: dict[str, Evaluation] = {}
    # all of them first: a wrong one must not be found after the others' calls
    for plays in players(environment, arms, **asked):
        with plays.telling():
            found[plays.name] = evaluate(
                plays.name, runs, plays.of_run, delivery=delivery, interval=plays.interval
            )
        plays.tell()
    if as_json:
        write_json(environment, {arm: result.to_json() for arm, result in found.items()})
    elif show is not None:
        for result in found.values():
            _show(environment, result, show)
    else:
        _table(environment, {**found, **baselines(runs)}, found)


def _table(
    environment: Environment, rows: dict[str, Evaluation], arms: dict[str, Evaluation]
) -> None:
    from pmem.cli.tables import grid, show, text

    columns = ("", "recall", "high+medium", "precision", "F1", "false alarms", "silence", "said")
    table = grid(columns, right=columns[1:])
    for name, result in rows.items():
        whole = result.total
        figures = (
            whole.recall,
            whole.recall_high_medium,
            whole.precision,
            whole.f1,
            whole.false_alarm_on_silent,
            whole.silence_rate,
        )
        table.add_row(text(name), *(text(_figure(f)) for f in figures), str(whole.predictions))
    show(environment, table)
    for name, result in arms.items():
        told = result.to_json()
        by_rule = grid((f"{name}, by rule", "in a window", "false alarm", "neutral"))
        for rule, counts in told["by_rule"].items():
            by_rule.add_row(text(rule), *(str(counts[k]) for k in counts))
        show(environment, text(""), by_rule)


def _show(environment: Environment, result: Evaluation, what: str) -> None:
    from pmem.cli.tables import show, text

    if what == "misses":
        for id, label in result.misses():
            title = f"{id}, before step {label.before_step}: {label.reason}, {label.confidence}"
            show(environment, text(title, "bold"), *_steps(result, id, label.before_step))
            show(environment, text(f"  wanted: {label.reminder}"), text(""))
    else:
        for id, said in result.false_alarms():
            title = f"{id}, before step {said.before_step}: {said.reminder.reason}"
            show(environment, text(title, "bold"), *_steps(result, id, said.before_step))
            show(environment, text(f"  said: {said.reminder.text}"), text(""))


def _steps(result: Evaluation, id: str, number: int) -> list[Any]:
    from pmem.cli.tables import text

    lines = []
    for step in result.runs[id].lines:
        if number - BEFORE <= step["step"] <= number:
            words = " ".join((step["action"] or step["observation"]).split())
            mark = "▶" if step["step"] == number else " "
            lines.append(text(f"  {mark} {step['step']} {step['kind']}: {words}"[:SHOWN], cut=True))
    return lines


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
