"""Measured: what a model earns at some turns with its likeliest answers, and how it decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pmem.core.redact import redact as plain_redact
from pmem.memory.model.tools import carry_out
from pmem.memory.prompts import load_prompts
from pmem.training.calls import NO_CALL, reply_turn
from pmem.training.calls import Turn as Said
from pmem.training.episode import Episode, Played, play
from pmem.training.held_out import Anew, Answer, figures
from pmem.training.rewards import parts, worth
from pmem.training.rows import messages_of
from pmem.training.turns import Turn

#: Turns that are played together.
_TOGETHER = 8


@dataclass(frozen=True, slots=True)
class Shown:
    """How a turn is put to a model: what takes secrets out, and the prompts."""

    redact: Callable[[str], str] = plain_redact
    texts: Mapping[str, str] = field(default_factory=load_prompts)

    def opening(self, turn: Turn) -> list[dict[str, Any]]:
        """The first messages of its conversation."""
        return turn.opening(self.redact, self.texts)

    @property
    def question(self) -> dict[str, str]:
        """What asks for phase 2."""
        return {"role": "user", "content": self.texts["decide"]}


def look_at(
    answer: Answer,
    sides: Mapping[str, Sequence[Turn]],
    weights: Mapping[str, float],
    looking: Callable[[int, int], None],
    shown: Shown,
) -> dict[str, Any]:
    """What a model earns on each side with its likeliest answers, in all and by part, and how its
    decisions agree with what was right."""
    total, done = sum(map(len, sides.values())), 0
    told: dict[str, Any] = {}
    for name, turns in sides.items():
        episodes: list[Episode] = []
        for start in range(0, len(turns), _TOGETHER):
            episodes += play_turns(turns[start : start + _TOGETHER], answer, shown)
            looking(done + len(episodes), total)
        done += len(episodes)
        told[name] = earned(episodes, weights)
    return told


def play_turns(turns: Sequence[Turn], answer: Answer, shown: Shown) -> list[Episode]:
    """Both phases of some turns, played by a model as a session would."""
    openings = [shown.opening(turn) for turn in turns]
    first = [reply_turn(text, ()) for text in answer(openings)]
    on = [n for n, said in enumerate(first) if said.calls]
    talks = [_second(turns[n], openings[n], first[n], shown) for n in on]
    second = dict(zip(on, answer(talks) if talks else (), strict=True))
    return [
        play(turn, Played(said.calls, said.text, second.get(n)))
        for n, (turn, said) in enumerate(zip(turns, first, strict=True))
    ]


def earned(episodes: Sequence[Episode], weights: Mapping[str, float]) -> dict[str, Any]:
    """The mean reward of some episodes, its parts, and the figures of their decisions."""
    if not episodes:
        return {"rows": 0, "reward": None}
    found = [parts(episode, weights) for episode in episodes]
    n = len(episodes)
    names = sorted({name for one in found for name in one})
    played = [
        Anew(_spelled(e.played), e.played.answer or "", "reminder" if e.turn.wanted else "silence")
        for e in episodes
    ]
    return {
        **figures(played),
        "reward": round(sum(worth(e, weights) for e in episodes) / n, 4),
        "parts": {name: round(sum(o.get(name, 0.0) for o in found) / n, 4) for name in names},
    }


def _second(
    turn: Turn, opening: Sequence[Mapping[str, Any]], said: Said, shown: Shown
) -> list[dict[str, Any]]:
    told = tuple(outcome.told for outcome in carry_out(said.calls, turn.bank()))
    return messages_of([said, Said("user", shown.question["content"], (), told)], opening)


def _spelled(played: Played) -> str:
    """The calls of phase 1 as text again, for the figures that read it."""
    calls = (
        f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
        for name, arguments in played.calls
    )
    return "\n".join((*calls, played.text)) or NO_CALL
