"""SFT: an open model learns to answer as a recorded memory agent did (TRL's SFTTrainer).

The loss is on the model's own words only: its calls in phase 1, and its decision in phase 2.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pmem.store import files
from pmem.training.course import Progress, Stop, follower, may_go_on, newest, points, stoppable
from pmem.training.curve import curve
from pmem.training.data_set import DataSet, Row, decided
from pmem.training.export import histogram
from pmem.training.held_out import Anew, figures, play_anew
from pmem.training.open_model import OpenModel, adapters, answers, encoded, keep, libraries, load

STATES, TOLD, PICTURE = "states", "sft.json", "loss.svg"
#: As the trainer logs them: over the updates, and over the rows held out.
LOSSES = {"training": "loss", "validation": "eval_loss"}
#: The share of a training after which its state is kept, and the rows held out are looked at.
_EVERY = 0.1
#: Rows that are played anew together.
_TOGETHER = 8


@dataclass(frozen=True, slots=True)
class Options:
    """How to train. `rank`: of the adapters, 0 for all weights; `batch`: rows an update,
    `at_once` of them together; `steps`: updates, 0 for `epochs`; `max_tokens`: a longer row is left
    out; `repeat`: how often a row that speaks is in an epoch."""

    model: str
    template: str = ""
    rank: int = 16
    learning_rate: float = 0.0
    epochs: float = 3.0
    steps: int = 0
    batch: int = 8
    at_once: int = 1
    max_tokens: int = 8192
    repeat: int = 1
    seed: int = 0

    @property
    def rate(self) -> float:
        """The learning rate; adapters bear ten times that of whole weights."""
        return self.learning_rate or (2e-4 if self.rank else 2e-5)


def train(
    options: Options, data: DataSet, out: Path, *, resume: bool, progress: Progress
) -> OpenModel:
    """Train, and write model, tokenizer and curve into `out`; with `resume` from the newest state
    there. The states are left until `finish`.

    Raises ValueError with a sentence, NoTrainer, OSError; KeyboardInterrupt once the state is kept.
    """
    libraries()  # before anything is written
    asked = json.loads(json.dumps({**asdict(options), "data": data.stamp}))
    may_go_on(out / STATES, asked, resume=resume)
    frozen = load(
        options.model,
        template=Path(options.template) if options.template else None,
        seed=options.seed,
        frozen=bool(options.rank),
    )
    speaking = [row for row in data.train if decided(row) != "silence"]
    rows = [*data.train, *speaking * (options.repeat - 1)]
    sides = [_examples(frozen, side, options.max_tokens) for side in (rows, data.validation)]
    if not sides[0]:
        raise ValueError(f"no row has at most {options.max_tokens} tokens; say more --max-tokens")
    with warnings.catch_warnings(), stoppable() as stop:
        warnings.simplefilter("ignore")
        trainer = _trainer(options, frozen, sides, out / STATES, stop, progress)
        state = newest(out / STATES)
        trainer.train(resume_from_checkpoint=str(state) if state else None)
    trained = keep(trainer, frozen, out)
    history = trainer.state.log_history
    losses = {name: points(history, figure) for name, figure in LOSSES.items()}
    told = {
        "options": asked,
        "rows": {"train": len(sides[0]), "validation": len(sides[1])},
        "tokens": histogram(len(one["input_ids"]) for side in sides for one in side),
        "left_out_too_long": len(rows) + len(data.validation) - sum(map(len, sides)),
        "updates": trainer.state.global_step,
        "loss": losses,
    }
    files.write_file(out / TOLD, json.dumps(told, indent=1).encode())
    files.write_file(out / PICTURE, curve("Loss of SFT", losses).encode())
    return trained


def finish(
    trained: OpenModel, data: DataSet, out: Path, *, most: int, progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Play at most `most` memory steps of each side anew and write what came of it beside the
    model; then the states are no longer needed. Returns all that is told of the training."""
    told: dict[str, Any] = json.loads((out / TOLD).read_text("utf-8"))
    sides = {"training": spread(data.train, most), "held_out": spread(data.validation, most)}
    total, done, answer = sum(map(len, sides.values())), 0, answers(trained)
    for name, rows in sides.items():
        played: list[Anew] = []
        for start in range(0, len(rows), _TOGETHER):
            played += play_anew(rows[start : start + _TOGETHER], answer)
            progress(done + len(played), total)
        done += len(played)
        told[name] = figures(played)
    files.write_file(out / TOLD, json.dumps(told, indent=1).encode())
    shutil.rmtree(out / STATES, ignore_errors=True)
    return told


def spread(rows: Sequence[Row], most: int) -> list[Row]:
    """At most so many rows: what speaks first, then silences from all over."""
    speaking = [row for row in rows if decided(row) != "silence"][:most]
    silent = [row for row in rows if decided(row) == "silence"]
    room = most - len(speaking)
    every = max(1, -(-len(silent) // room)) if room else 1
    return speaking + silent[::every][:room]


def _examples(
    open_model: OpenModel, rows: Sequence[Row], max_tokens: int
) -> list[dict[str, list[int]]]:
    """Rows as tokens and labels (-100: no loss there); those that are too long are left out."""
    made = []
    for row in rows:
        ids, said = encoded(open_model.tokenizer, row["messages"])
        if len(ids) <= max_tokens:
            labels = [id if mine else -100 for id, mine in zip(ids, said, strict=True)]
            made.append({"input_ids": ids, "labels": labels})
    return made


def _trainer(
    options: Options,
    open_model: OpenModel,
    sides: Sequence[Sequence[dict[str, list[int]]]],
    states: Path,
    stop: Stop,
    progress: Progress,
) -> Any:
    import datasets

    torch, transformers, trl = libraries()
    gpu = torch.cuda.is_available()
    together = min(options.at_once, options.batch)
    arguments = trl.SFTConfig(
        output_dir=str(states),
        dataset_kwargs={"skip_prepare_dataset": True},
        max_length=None,
        per_device_train_batch_size=together,
        per_device_eval_batch_size=together,
        gradient_accumulation_steps=-(-options.batch // together),
        gradient_checkpointing=gpu,
        bf16=gpu,
        learning_rate=options.rate,
        lr_scheduler_type="cosine",
        warmup_steps=0.03,
        num_train_epochs=options.epochs,
        max_steps=options.steps or -1,
        eval_strategy="steps" if sides[1] else "no",
        eval_steps=_EVERY,
        save_strategy="steps",
        save_steps=_EVERY,
        save_total_limit=2,
        logging_steps=1,
        seed=options.seed,
        data_seed=options.seed,
        report_to="none",
        disable_tqdm=True,
    )
    train, validation = (datasets.Dataset.from_list(list(side)) for side in sides)
    trainer = trl.SFTTrainer(
        model=open_model.model,
        args=arguments,
        train_dataset=train,
        eval_dataset=validation if sides[1] else None,
        processing_class=open_model.tokenizer,
        peft_config=adapters(options.rank),
        callbacks=[follower(transformers, stop, progress)],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer
