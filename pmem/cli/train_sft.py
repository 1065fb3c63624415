"""`pmem train sft`: an open model learns to answer as a recorded memory agent did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import json_option
from pmem.cli.train_sources import stopping
from pmem.cli.words import count
from pmem.extra import how_to_install

#: What the table tells of a side, and how it is called there.
FIGURES = {
    "rows": "memory steps",
    "calls_valid": "calls in form",
    "decisions_valid": "decisions in form",
    "valid": "both",
    "agreement": "decided as recorded",
    "silent_agreement": "… were it always silent",
    "precision": "precision of speaking",
    "recall": "recall of speaking",
}


@click.command(
    short_help="Fine-tune an open model on recorded decisions.",
    epilog="""\b
Examples:
  pmem train export -o data                        recorded decisions as rows
  pmem train sft --model Qwen/Qwen3-4B --data data -o tuned
                                                   adapters, three epochs
  pmem train sft --model ./base --data data -o tuned --full --epochs 1
                                                   all weights
  pmem train sft --model ./base --data data -o tuned --resume
                                                   go on after Ctrl-C

DIR then holds the whole model, which vLLM and others serve; adapters alone in DIR/adapter; sft.json
and loss.svg, what came of it. A NAME that is no directory is taken from its hub, nothing else is
sent anywhere. Needs the extra train (TRL and torch): ./install.sh --with train.""",
)
@click.option(
    "--model",
    required=True,
    metavar="DIR|NAME",
    help="The model to begin with, as transformers loads it.",
)
@click.option(
    "--data",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A data set of pmem train export.",
)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write the model.",
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
    help="2e-4 by default, 2e-5 with --full.",
)
@click.option(
    "--epochs",
    type=click.FloatRange(0, min_open=True),
    default=3,
    show_default=True,
    metavar="N",
    help="How often each row is seen.",
)
@click.option(
    "--steps", type=click.IntRange(1), metavar="N", help="So many updates, instead of --epochs."
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    metavar="N",
    help="Rows an update.",
)
@click.option(
    "--at-once",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Of them, how many are in memory together.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=8192,
    show_default=True,
    metavar="N",
    help="A longer row is left out.",
)
@click.option(
    "--repeat-speaking",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="How often a row that speaks is in an epoch: silences are many.",
)
@click.option(
    "--chat-template",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A Jinja template instead of the model's own.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="For the order of rows, adapters and dropout.",
)
@click.option(
    "--evaluate",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    metavar="N",
    help="Play so many memory steps of each side anew when it is trained.",
)
@click.option("--resume", is_flag=True, help="Go on with a training that was stopped.")
@json_option
@click.pass_obj
def sft(
    environment: Environment,
    model: str,
    data: Path,
    output: Path,
    full: bool,
    rank: int,
    learning_rate: float | None,
    epochs: float,
    steps: int | None,
    batch: int,
    at_once: int,
    max_tokens: int,
    repeat_speaking: int,
    chat_template: Path | None,
    seed: int,
    evaluate: int,
    resume: bool,
    as_json: bool,
) -> None:
    """Train a model on the rows of a data set: the loss is on what the model itself says, its calls
    and its decisions.

    In the end memory steps of both sides are played anew by the trained model: do its answers have
    the form that pmem reads, does it decide as was recorded, and where it speaks, was it right to?
    """
    from pmem.cli.tables import write_json
    from pmem.training.data_set import load_data_set
    from pmem.training.open_model import NoTrainer
    from pmem.training.sft import Options, finish, train

    local = environment.cwd / Path(model).expanduser()
    options = Options(
        model=str(local) if local.is_dir() else model,
        template=str(environment.cwd / chat_template) if chat_template else "",
        rank=0 if full else rank,
        learning_rate=learning_rate or 0.0,
        epochs=epochs,
        steps=steps or 0,
        batch=batch,
        at_once=at_once,
        max_tokens=max_tokens,
        repeat=repeat_speaking,
        seed=seed,
    )
    out = free(environment.cwd / output.expanduser(), resume=resume)
    try:
        with stopping("the same command with --resume goes on"):
            rows = load_data_set(environment.cwd / data.expanduser())
            with drawn(environment, "training") as progress:
                trained = train(options, rows, out, resume=resume, progress=progress)
            with drawn(environment, "playing anew") as progress:
                told = finish(
                    trained, rows, out, most=evaluate, progress=lambda n, of: progress(n, of, None)
                )
    except NoTrainer:
        raise Trouble(
            "training needs TRL and torch",
            f"install them: {how_to_install('train', 'trl==1.16.0 peft')}",
        ) from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise Trouble(f"cannot write {out}: {why}", "make room, or name another -o") from None
    if as_json:
        write_json(environment, told)
    else:
        _told(environment, told)
    environment.say(f"written: {output}")


def free(folder: Path, *, resume: bool, told: str = "sft.json") -> Path:
    """A directory for a model: a new one, or one of an earlier training. Raises Trouble (2)."""
    from pmem.training.sft import STATES

    ours = resume or any((folder / name).exists() for name in (told, STATES))
    if not ours and folder.exists() and any(folder.iterdir()):
        raise Trouble(f"{folder} holds something else", "name a new one with -o", Exit.USAGE)
    return folder


@contextmanager
def drawn(
    environment: Environment, what: str, named: str = "loss"
) -> Iterator[Callable[[int, int, float | None], None]]:
    """A bar on a terminal that is told how many are done of how many, and a figure beside it."""
    if not environment.stderr_isatty:
        yield lambda done, total, figure: None
        return
    line: Any = click.progressbar(
        length=1,
        label=f"pmem: {what}",
        file=environment.stderr,
        show_pos=True,
        width=24,
        item_show_func=lambda figure: None if figure is None else f"{named} {figure:.3f}",
    )
    with line as shown:

        def progress(done: int, total: int, figure: float | None) -> None:
            shown.length = total
            shown.update(done - shown.pos, figure)

        yield progress


def _told(environment: Environment, told: Mapping[str, Any]) -> None:
    from pmem.cli.tables import grid, show, text
    from pmem.training.card import bars

    rows = count(told["rows"]["train"], "row")
    losses = told["loss"]["training"]
    ends = f", loss {losses[0][1]:.3f} → {losses[-1][1]:.3f}" if losses else ""
    show(environment, text(f"{rows}, {count(told['updates'], 'update')}{ends}"))
    if told["left_out_too_long"]:
        show(environment, text(f"{count(told['left_out_too_long'], 'row')} too long, left out"))
    show(environment, text(""), text("tokens a row", "bold"))
    environment.write(bars(told["tokens"]).rstrip("\n"))
    if not told["training"]["rows"]:
        return
    columns = ("played anew", "trained on", "held out")
    table = grid(columns, right=columns[1:])
    for key, name in FIGURES.items():
        cells = (told[side][key] for side in ("training", "held_out"))
        table.add_row(text(name), *(text(_figure(cell)) for cell in cells))
    show(environment, text(""), table)


def _figure(value: float | int | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.3f}"
