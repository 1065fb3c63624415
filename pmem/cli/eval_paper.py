"""`pmem eval paper`: the rows of the paper's tables, and what each would cost to run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import json_option
from pmem.cli.words import count

if TYPE_CHECKING:
    from pmem.evaluation.forecast import Forecast
    from pmem.evaluation.paper import Row
    from pmem.models.protocol import Usage


@click.command(
    short_help="The rows of the paper's tables, and what each costs.",
    epilog="""\b
Examples:
  pmem eval paper                        all rows
  pmem eval paper tau2-sonnet-selective  one, and what it would cost
  pmem eval paper tau2-sonnet-selective --like results/trial

Nothing is run and nothing is sent. The price is reckoned from assumed sizes, or with --like from
what the trials of a results folder took, with nothing read from a cache.""",
)
@click.argument("row", required=False)
@click.option(
    "--like",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A results folder whose averages the price is reckoned from.",
)
@json_option
@click.pass_obj
def paper(environment: Environment, row: str | None, like: Path | None, as_json: bool) -> None:
    """Show the rows of the paper's tables, or how ROW is set up and what it would cost to run."""
    from pmem.cli.tables import write_json
    from pmem.evaluation.paper import row_named, rows

    if row is None and like is not None:
        raise Trouble("--like is for one row; name it", code=Exit.USAGE)
    if row is None:
        if as_json:
            write_json(environment, [_told(one) for one in rows()])
        else:
            _rows(environment, rows())
        return
    try:
        found = row_named(row)
        cost = _cost(environment, found, like)
    except ValueError as error:
        raise Trouble(str(error), code=Exit.USAGE) from error
    if as_json:
        cost_told = {
            "trials": cost.trials,
            "action_tokens": cost.action.tokens,
            "memory_tokens": cost.memory.tokens,
            "money": None if cost.money is None else round(cost.money, 2),
            "measured": cost.measured,
        }
        write_json(environment, {**_told(found), "cost": cost_told})
        return
    _settings(environment, found)
    environment.write("")
    tell(environment, cost, user=found.benchmark == "tau2")
    environment.write(f"\nrun it with:\n{_command(found)}")


def _command(row: Row) -> str:
    """The command that runs a row, as it is typed into a shell, on several lines."""
    lines = [f"pmem eval {row.benchmark} --arm {row.arm}{' --pure' if row.pure else ''}"]
    lines += [f"--action-model {row.action_model} --action-temperature {row.action_temperature}"]
    if row.memory_model:
        temperature = f"--memory-temperature {row.memory_temperature}"
        lines += [
            f"--memory-model {row.memory_model} {temperature}",
            f"--interval {row.interval} --window {row.window}",
        ]
    return " \\\n  ".join([*lines, f"--turns {row.turns} --to {row.name}"])


def _cost(environment: Environment, row: Row, like: Path | None) -> Forecast:
    from pmem.evaluation.forecast import forecast
    from pmem.evaluation.paper import config_of, title
    from pmem.evaluation.results import load
    from pmem.models.prices import NAME, load_prices
    from pmem.store.places import beside_config

    prices = load_prices(beside_config(environment.env, NAME))
    measure = load(environment.cwd / like) if like is not None else None
    if measure is not None and not measure.trials:
        raise ValueError(f"{measure.folder} holds no finished trial yet")
    if measure is not None and measure.config.benchmark != row.benchmark:
        raise ValueError(f"{measure.folder} is of {title(measure.config.benchmark)}; name another")
    return forecast(config_of(row), prices, measure)


def _told(row: Row) -> dict[str, Any]:
    return {**asdict(row), "pure": row.pure, "macro": round(row.macro, 2)} | {
        "by_task": round(row.weighted, 2)
    }


def _rows(environment: Environment, rows: list[Row]) -> None:
    from pmem.cli.tables import grid, show, text

    names = list(dict.fromkeys(name for row in rows for name in row.passed if name))
    columns = ("pass@1 in %", "tasks", *names, "macro", "by task")
    table = grid(columns, right=columns[1:])
    for row in rows:
        domains = [f"{row.passed[name]:.1f}" if name in row.passed else "–" for name in names]
        averages = (f"{row.macro:.1f}", f"{row.weighted:.1f}")
        table.add_row(text(row.name), str(sum(row.tasks.values())), *domains, *averages)
    show(environment, table)


def _settings(environment: Environment, row: Row) -> None:
    from pmem.cli.tables import grid, show, text
    from pmem.evaluation.paper import title

    table = grid((row.name, ""))
    tasks = ", ".join(f"{n} {name or 'tasks'}" for name, n in row.tasks.items())
    told = {
        "benchmark": f"{title(row.benchmark)}: {tasks}; one trial each",
        "arm": f"{row.arm}, in the paper's own form (--pure)" if row.pure else row.arm,
        "action model": f"{row.action_model}, temperature {row.action_temperature}",
        "memory model": f"{row.memory_model}, temperature {row.memory_temperature}"
        if row.memory_model
        else "none",
        "memory looks": _looks(row),
        "turns": str(row.turns),
        "the paper's pass@1": f"{row.weighted:.1f} by task"
        + (f", {row.macro:.1f} macro" if len(row.passed) > 1 else ""),
    }
    if row.averages_again is not None:
        by_task, macro = row.averages_again
        told["in its ablations"] = f"{by_task:.1f} by task, {macro:.1f} macro"
    for name, value in told.items():
        table.add_row(text(name), text(value))
    show(environment, table)


def _looks(row: Row) -> str:
    if not row.memory_model:
        return "never"
    if row.arm == "mem0":
        return "after every step; up to 10 memories are found before each call"
    return f"after every step, at the last {row.window}"


def tell(environment: Environment, cost: Forecast, *, user: bool) -> None:
    """What a run would cost, on stdout; `user` says that a model plays one."""
    each = cost.per_trial
    source = "as the results folder has it" if cost.measured else "assumed, not measured"
    lines = [
        f"{count(cost.trials, 'trial')} of {each.steps:.0f} steps ({source})",
        f"action agent: {_tokens(cost.action)}{_money(cost.action_money)}",
    ]
    if cost.memory.tokens:
        lines.append(f"memory agent: {_tokens(cost.memory)}{_money(cost.memory_money)}")
    if cost.money is not None:
        lines.append(f"together about ${cost.money:,.0f}, less where a cache is read")
    if user:
        lines.append("the model of the simulated user comes on top")
    environment.write("\n".join(lines))


def _tokens(usage: Usage) -> str:
    return f"{usage.input:,} tokens in, {usage.output:,} out"


def _money(money: float | None) -> str:
    return ", no price known" if money is None else f", ${money:,.0f}"
