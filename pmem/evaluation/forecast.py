"""What a run would cost, before it is started."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from pmem.evaluation.paper import Assumed, assumed
from pmem.evaluation.results import Config, Results
from pmem.models.prices import Prices
from pmem.models.protocol import Usage

#: Calls of the model at one look, by arm: both phases, or the one that the arm has.
_PHASES = {"off": 0, "rules": 0, "bank": 1, "advisor": 1, "mem0": 1}


@dataclass(frozen=True)
class Forecast:
    """Tokens and US dollars of a whole run; money is None where a model has no price.

    `measured` says that another run's trials were the measure, and not our assumptions.
    """

    trials: int
    per_trial: Assumed
    action: Usage
    memory: Usage
    action_money: float | None
    memory_money: float | None
    measured: bool

    @property
    def money(self) -> float | None:
        """Both together."""
        if self.action_money is None or self.memory_money is None:
            return None
        return self.action_money + self.memory_money


def forecast(config: Config, prices: Prices, like: Results | None = None) -> Forecast:
    """What the trials of a configuration would take; nothing is taken to come from a cache.

    `like` is a results folder whose averages are used; how often memory looks is taken from it too
    where it is of the same arm. A simulated user and an embedder are not counted.
    """
    each = _measured(like) if like is not None and like.trials else assumed(config.benchmark)
    trials = config.trials
    calls = trials * each.steps
    action = Usage(round(calls * each.action_input), round(calls * each.action_output))
    if like is not None and like.trials and _same_memory(config, like.config):
        asked = trials * fmean(t.memory.calls for t in like.trials)
    else:
        # Our own arms look about every other step: at the interval, and when something happened.
        looks = calls if config.pure or config.interval == 1 else calls / 2
        asked = looks * _PHASES.get(config.arm, 2)
    memory = Usage(round(asked * each.memory_input), round(asked * each.memory_output))
    return Forecast(
        trials,
        each,
        action,
        memory,
        prices.money(config.action_model, action),
        prices.money(config.memory_model, memory) if memory.tokens else 0.0,
        like is not None and bool(like.trials),
    )


def _same_memory(one: Config, other: Config) -> bool:
    return (one.arm, one.pure, one.interval) == (other.arm, other.pure, other.interval)


def _measured(like: Results) -> Assumed:
    plain = assumed(like.config.benchmark)
    acted = sum(t.action.calls for t in like.trials)
    asked = sum(t.memory.calls for t in like.trials)
    return Assumed(
        fmean(t.action.calls or t.steps for t in like.trials),
        sum(t.action.input for t in like.trials) / acted if acted else plain.action_input,
        sum(t.action.output for t in like.trials) / acted if acted else plain.action_output,
        sum(t.memory.input for t in like.trials) / asked if asked else plain.memory_input,
        sum(t.memory.output for t in like.trials) / asked if asked else plain.memory_output,
    )
