"""GRPO: an open model learns when to speak from what its own decisions are worth (TRL's trainer).

At each pivot the model plays the turn several times on a bank of its own, tools carried out; what
earned more than the others becomes likelier. The conversation is the one it is served with: TRL
goes on from the results of the tools, here with the question of phase 2.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pmem.core.redact import redact as plain_redact
from pmem.memory.prompts import load_prompts
from pmem.store import files
from pmem.training.course import Progress, Stop, follower, may_go_on, newest, points, stoppable
from pmem.training.curve import curve
from pmem.training.environment import MemoryEnvironment, factory
from pmem.training.episode import Episode
from pmem.training.grounds import Sides
from pmem.training.measured import Shown, look_at
from pmem.training.open_model import OpenModel, adapters, answers, asked, keep, libraries, load
from pmem.training.rewards import REWARDS
from pmem.training.rows import offered
from pmem.training.turns import Turn

STATES, TOLD, PICTURE, PIVOTS = "states", "grpo.json", "reward.svg", "pivots.jsonl"
#: The share of a training after which its state is kept.
_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Options:
    """How to train. `turns`: pivots an update, each played `generations` times, `at_once` of these
    together; `steps`: updates; `rank`: of the adapters, 0 for all weights; `max_tokens`: a pivot
    with a longer opening is left out; `max_answer`: tokens of an episode after the opening;
    `prompts`: a directory of prompts that replace pmem's own."""

    model: str
    weights: Mapping[str, float] = field(default_factory=dict)
    template: str = ""
    prompts: str = ""
    rank: int = 16
    learning_rate: float = 0.0
    steps: int = 100
    turns: int = 4
    generations: int = 8
    at_once: int = 8
    max_tokens: int = 8192
    max_answer: int = 1024
    temperature: float = 1.0
    vllm: bool = False
    seed: int = 0

    @property
    def rate(self) -> float:
        """The learning rate; adapters bear ten times that of whole weights."""
        return self.learning_rate or (1e-5 if self.rank else 1e-6)

    @property
    def texts(self) -> Mapping[str, str]:
        """The prompts by name. Raises ValueError naming the file if one cannot be read."""
        return load_prompts(Path(self.prompts) if self.prompts else None)


def train(
    options: Options,
    sides: Sides,
    out: Path,
    *,
    resume: bool,
    progress: Progress,
    looking: Callable[[int, int], None] = lambda done, total: None,
    redact: Callable[[str], str] = plain_redact,
) -> dict[str, Any]:
    """Train, and write model, tokenizer, the curve of the reward, the pivots and what is told of it
    into `out`; with `resume` from the newest state there.

    What the model earns is measured before and after, with its likeliest answers; `looking` is
    told how many turns of how many are played. Raises ValueError with a sentence, NoTrainer,
    OSError; KeyboardInterrupt once the state is kept.
    """
    asked_for = json.loads(json.dumps({**asdict(options), "data": sides.stamp}))
    may_go_on(out / STATES, asked_for, resume=resume)
    model = load(
        options.model,
        template=Path(options.template) if options.template else None,
        seed=options.seed,
        frozen=bool(options.rank),
    )
    shown = Shown(redact, options.texts)
    fitting, rows = _rows(model, sides.train, options.max_tokens, shown)
    if not fitting:
        raise ValueError(f"no pivot has at most {options.max_tokens} tokens; say more --max-tokens")
    told = _told(out) if resume else {}
    held = _rows(model, sides.held_out, options.max_tokens, shown)[0]
    looked = {"training": fitting, "held_out": held}
    if not told:
        files.write_file(out / PIVOTS, b"".join(_line(turn) for turn in fitting))
        told = {"options": asked_for, "pivots": {name: len(side) for name, side in looked.items()}}
        told["before"] = _look(model, looked, options, looking, shown)
        files.write_file(out / TOLD, json.dumps(told, indent=1).encode())
    with warnings.catch_warnings(), stoppable() as stop:
        warnings.simplefilter("ignore")
        trainer = _trainer(options, model, shown, fitting, rows, out / STATES, stop, progress)
        state = newest(out / STATES)
        trainer.train(resume_from_checkpoint=str(state) if state else None)
    trained = keep(trainer, model, out)
    history = trainer.state.log_history
    told["updates"] = trainer.state.global_step
    told["reward"] = points(history, "reward")
    told["parts"] = {name: points(history, f"rewards/{name}/mean") for name in _used(options)}
    told["tool_calls"] = sum(value for _, value in points(history, "tools/call_frequency"))
    told["after"] = _look(trained, looked, options, looking, shown)
    files.write_file(out / TOLD, json.dumps(told, indent=1).encode())
    lines = {"reward": told["reward"], "mean of the last ten": smooth(told["reward"])}
    files.write_file(out / PICTURE, curve("Mean reward of GRPO", lines).encode())
    shutil.rmtree(out / STATES, ignore_errors=True)  # no longer needed
    return told


def _look(
    model: OpenModel,
    sides: Mapping[str, Sequence[Turn]],
    options: Options,
    looking: Callable[[int, int], None],
    shown: Shown,
) -> dict[str, Any]:
    return look_at(answers(model, most=options.max_answer), sides, options.weights, looking, shown)


def smooth(line: Sequence[tuple[float, float]], over: int = 10) -> list[tuple[float, float]]:
    """The mean of each point and those before it, at most so many in all."""
    values = [value for _, value in line]
    return [
        (x, round(sum(values[max(0, n - over + 1) : n + 1]) / min(over, n + 1), 5))
        for n, (x, _) in enumerate(line)
    ]


def _rows(
    model: OpenModel, turns: Sequence[Turn], most: int, shown: Shown
) -> tuple[list[Turn], list[dict[str, Any]]]:
    """The turns whose openings fit, and their rows for the trainer."""
    openings = [(turn, shown.opening(turn)) for turn in turns]
    fit = [(turn, said) for turn, said in openings if len(asked(model.tokenizer, said)) <= most]
    return [turn for turn, _ in fit], [{"prompt": said, "turn": turn.id} for turn, said in fit]


def _trainer(
    options: Options,
    model: OpenModel,
    shown: Shown,
    turns: Sequence[Turn],
    rows: Sequence[Mapping[str, Any]],
    states: Path,
    stop: Stop,
    progress: Progress,
) -> Any:
    import datasets

    torch, transformers, trl = libraries()
    question = shown.question

    class Trainer(trl.GRPOTrainer):  # type: ignore[name-defined, misc]
        """The conversation as pmem has it: the tools as they are offered, phase 2 asked for."""

        def __init__(self, *args: Any, **rest: Any) -> None:
            super().__init__(*args, **rest)
            self._env_tools = {None: offered()}

        def _get_tool_suffix_ids(self, tool_messages: list[dict[str, Any]]) -> list[int]:
            ids: list[int] = super()._get_tool_suffix_ids([*tool_messages, question])
            return ids

    gpu = torch.cuda.is_available()
    episodes = options.turns * options.generations
    together = min(options.at_once, episodes)
    arguments = trl.GRPOConfig(
        output_dir=str(states),
        per_device_train_batch_size=together,
        gradient_accumulation_steps=-(-episodes // together),
        num_generations=options.generations,
        max_completion_length=options.max_answer,
        max_tool_calling_iterations=1,
        temperature=options.temperature,
        reward_weights=[options.weights[name] for name in _used(options)],
        use_vllm=options.vllm,
        gradient_checkpointing=gpu,
        bf16=gpu,
        learning_rate=options.rate,
        lr_scheduler_type="constant",
        max_steps=options.steps,
        save_strategy="steps",
        save_steps=_EVERY,
        save_total_limit=2,
        logging_steps=1,
        seed=options.seed,
        data_seed=options.seed,
        report_to="none",
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=model.model,
        args=arguments,
        train_dataset=datasets.Dataset.from_list(list(map(dict, rows))),
        processing_class=model.tokenizer,
        reward_funcs=reward_functions(_used(options)),
        environment_factory=factory(turns),
        peft_config=adapters(options.rank),
        callbacks=[follower(transformers, stop, progress, "reward")],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def reward_functions(names: Sequence[str]) -> list[Callable[..., list[float | None]]]:
    """The rewards as TRL calls them, by name; an episode is carried out once for all of them."""
    latest: list[tuple[Any, list[Episode]]] = []

    def episodes(completions: Any, environments: Sequence[MemoryEnvironment]) -> list[Episode]:
        if not latest or latest[0][0] is not completions:
            pairs = zip(environments, completions, strict=True)
            latest[:] = [(completions, [one._episode(said) for one, said in pairs])]
        return latest[0][1]

    def named(name: str) -> Callable[..., list[float | None]]:
        def reward(completions: Any, environments: Any, **_: Any) -> list[float | None]:
            return [REWARDS[name](episode) for episode in episodes(completions, environments)]

        reward.__name__ = name
        return reward

    return [named(name) for name in names]


def _used(options: Options) -> list[str]:
    return [name for name, weight in options.weights.items() if weight]


def _told(out: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((out / TOLD).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return told


def _line(turn: Turn) -> bytes:
    told = {"run": turn.run, "before_step": turn.before_step, "wanted": turn.wanted}
    told |= {"why": turn.why, "about": turn.about, "outcome": dict(turn.outcome)}
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"
