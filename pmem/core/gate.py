"""Gate: a learned sense of when speaking, and asking a model, has been worth it.

It can only refuse: what it lets through was wanted without it. It is a few weights in a file that a
person can read; probability = 1 / (1 + exp(-(intercept + sum of weight * feature))).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pmem.core.decision import Reminder, Trigger
from pmem.core.moment import Moment
from pmem.core.step import Step
from pmem.core.text import words
from pmem.core.tokens import tokens

#: At every other trigger a model is asked whatever a gate says: requirements, and what a
#: compaction drops, are learned there.
ASKED_BY_GATE = frozenset({Trigger.INTERVAL, Trigger.FAILURE, Trigger.REPEAT})
#: Steps in which failures are counted, and after which a reminder is long ago.
RECENT, LONG_AGO = 8, 20
#: Characters of a step's action, and of the end of its output, that are compared with a reminder.
LOOKED_AT = 4000


@dataclass(frozen=True, slots=True)
class Weights:
    """One learned question. A feature that has no weight counts nothing."""

    threshold: float
    intercept: float
    weights: Mapping[str, float] = field(default_factory=dict)

    def probability(self, features: Mapping[str, float]) -> float:
        """How likely it is worth it, from 0 to 1."""
        total = self.intercept
        total += sum(self.weights.get(name, 0.0) * value for name, value in features.items())
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


@dataclass(frozen=True, slots=True)
class Gate:
    """`speak` says by speaker (`model`, `rules`) which reminders are worth giving, `ask` after
    which steps a model is worth a call. What is not there refuses nothing."""

    speak: Mapping[str, Weights] = field(default_factory=dict)
    ask: Weights | None = None

    def refuses(self, reminder: Reminder, moment: Moment) -> str:
        """Why a reminder that passed the guard is not given, "" if it is.

        What is sure, what a person asked to be told, a digest and an ablation's note always are.
        """
        weights = self.speak.get(speaker(reminder.reason))
        if weights is None or _always_given(reminder, moment):
            return ""
        found = weights.probability(of_reminder(reminder, moment))
        if found >= weights.threshold:
            return ""
        return f"the gate: {found:.2f} is below {weights.threshold:.2f}"

    def asks(self, moment: Moment) -> bool:
        """Whether a call of the model is worth it at this moment."""
        if self.ask is None or moment.trigger not in ASKED_BY_GATE:
            return True
        return self.ask.probability(of_moment(moment)) >= self.ask.threshold


def speaker(reason: str) -> str:
    """Who words what is given for a reason: a model, its watches among it, or the rules."""
    return "model" if reason == "model" or reason.startswith("watch:") else "rules"


def of_moment(moment: Moment) -> dict[str, float]:
    """What is looked at before a model is asked; each from 0 to 1, what is 0 is left out."""
    last = moment.history.facts[-1] if moment.history.facts else None
    found = {
        "failures": _failures(moment),
        "failed": float(last is not None and last.failed),
        "since reminder": 1.0,
    }
    if moment.given and last is not None:
        since = last.number - max(given.step for given in moment.given)
        found["since reminder"] = min(max(since, 0), LONG_AGO) / LONG_AGO
    return {name: value for name, value in found.items() if value}


def of_reminder(reminder: Reminder, moment: Moment) -> dict[str, float]:
    """What is looked at before a reminder is given; each from 0 to 1, what is 0 is left out."""
    said = frozenset(tokens(reminder.text))
    found = {
        "failures": _failures(moment),
        "words": min(words(reminder.text), 60) / 60,
        "seen in the last step": _overlap(said, _text(moment.window[-1:])),
        "told before": max((_overlap(said, given.text) for given in moment.given), default=0.0),
        f"reason {reminder.reason.partition(':')[0]}": 1.0,
    }
    return {name: value for name, value in found.items() if value}


def _always_given(reminder: Reminder, moment: Moment) -> bool:
    if reminder.sure or reminder.whole or moment.trigger is Trigger.COMPACTION:
        return True
    entries = map(moment.bank.get, reminder.entries)
    watched = reminder.reason.startswith("watch:")
    return watched and any(entry is not None and entry.source == "user" for entry in entries)


def _failures(moment: Moment) -> float:
    """The share of the latest steps that failed."""
    latest = islice(reversed(moment.history.facts), RECENT)
    return sum(facts.failed for facts in latest) / RECENT


def _text(steps: Sequence[Step]) -> str:
    return "\n".join(f"{s.action[:LOOKED_AT]}\n{s.observation[-LOOKED_AT:]}" for s in steps)


def _overlap(said: frozenset[str], text: str) -> float:
    """The share of a reminder's words that a text has."""
    return len(said.intersection(tokens(text))) / len(said) if said else 0.0
