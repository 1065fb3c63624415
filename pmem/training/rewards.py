"""Rewards: what an episode is worth, in parts that can be weighed one by one.

Each takes an episode and gives a number, None where it has nothing to say. Only the right decision
and a good outcome earn anything; grounding, brevity, upkeep and form can only cost. The composition
is our own: the paper does not publish its reward.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from pmem.core.bank import BankOp, MemoryBank, SaveKnowledge, SaveProcedural
from pmem.core.text import words
from pmem.training.ahead import fired
from pmem.training.episode import Episode
from pmem.training.wording import copied, made_up, runs_of, same_matter

Reward = Callable[[Episode], float | None]

#: The weights as they are, beside this file.
WEIGHTS_FILE = Path(__file__).with_name("rewards.toml")
#: Two texts that share so little tell of different matters; so much, of the same.
OTHER, SAME = 0.1, 0.25
#: Words of a reminder that cost nothing, and at which brevity costs all.
BRIEF, LONG = 60, 180
#: Of an entry so much may be an output word by word.
QUOTED = 0.5
#: Words kept at a turn that cost nothing, and at which upkeep costs all.
KEPT, STUFFED = 160, 640


def outcome(episode: Episode) -> float | None:
    """The mean reward of recorded runs that went on as decided here, less that of the others; a
    reminder earns it as far as it tells what theirs told."""
    came = episode.turn.outcome
    if "spoke" not in came or "silent" not in came:
        return None
    gain = came["spoke"] - came["silent"]
    if not episode.delivered:
        return -gain
    return gain * (2 * _to_the_point(episode) - 1) if gain > 0 else gain


def agreement(episode: Episode) -> float | None:
    """+1 for a reminder where one was wanted, as far as it tells what was wanted and reaches the
    agent, and for silence where none was; -1 for the contrary, and for what cannot be read."""
    wanted = episode.turn.wanted
    if wanted is None:
        return None
    if not episode.readable:
        return -1.0
    if wanted:
        return 2 * _to_the_point(episode) - 1 if episode.delivered else -1.0
    return -1.0 if episode.said else 1.0


def watches(episode: Episode) -> float | None:
    """The watches armed here over the steps that followed: +1 if one spoke where a reminder of that
    kind was wanted, -1 for each time one spoke where none was, at least -1 in all."""
    armed = {
        id
        for id, entry in episode.bank.entries.items()
        if entry.when is not None and entry != episode.turn.moment.bank.get(id)
    }
    if not armed:
        return None
    score = 0.0
    for wanted, about, text in fired(episode, armed):
        if wanted:
            score += _credit(text, about)
        elif wanted is False:
            score -= 1.0
    return max(-1.0, min(1.0, score))


def grounding(episode: Episode) -> float:
    """Less the share of facts that stand neither in the window, the task and the rule files nor in
    the bank as it was: of the reminder, or of what was kept, whichever has more."""
    known, steps = episode.turn.known, episode.turn.before_step
    texts = [episode.said, "\n".join(_saved(op) for op in episode.ops)]
    return -max(made_up(text, known, steps) for text in texts)


def copying(episode: Episode) -> float:
    """Less how far over half of the reminder, or of what was kept, is an output or another text of
    the window, the task or an earlier reminder, word by word."""
    turn = episode.turn
    told = runs_of(given.text for given in turn.moment.given)
    share = max(
        copied(episode.said, turn.shown | told if told else turn.shown),
        max((copied(_saved(op), turn.shown) for op in episode.ops), default=0.0),
    )
    return -max(0.0, share - QUOTED) / (1 - QUOTED)


def brevity(episode: Episode) -> float:
    """Less for each word of a reminder beyond 60, all of it at 180."""
    return -_beyond(words(episode.said), BRIEF, LONG)


def upkeep(episode: Episode) -> float:
    """Less the share of calls that left the bank as it was or undid one another, and less for what
    is kept beyond 160 words."""
    changed = _changes(episode.turn.moment.bank, episode.bank)
    calls = len(episode.played.calls)
    idle = max(0, calls - changed) / calls if calls else 0.0
    kept = sum(words(_saved(op)) for op in episode.ops)
    return -max(idle, _beyond(kept, KEPT, STUFFED))


def speaking(episode: Episode) -> float:
    """-1 for each reminder, whether it passes the guard or not."""
    return -1.0 if episode.said else 0.0


def form(episode: Episode) -> float:
    """-1 for an answer that cannot be read, less for calls that could not be carried out."""
    if not episode.readable:
        return -1.0
    failed = sum(told.startswith("not done") for told in episode.told)
    return -0.5 * failed / len(episode.told) if episode.told else 0.0


#: All of them, by the names that weights and curves use.
REWARDS: Mapping[str, Reward] = {
    "outcome": outcome,
    "agreement": agreement,
    "watches": watches,
    "grounding": grounding,
    "copying": copying,
    "brevity": brevity,
    "upkeep": upkeep,
    "speaking": speaking,
    "format": form,
}


def load_weights(path: Path | None = None) -> dict[str, float]:
    """The weights by name; those that a file of the user's own names are taken from there.

    Raises ValueError with a sentence naming the file if it cannot be used.
    """
    weights = _weights(WEIGHTS_FILE)
    return {**weights, **_weights(path)} if path is not None else weights


def worth(episode: Episode, weights: Mapping[str, float]) -> float:
    """The sum of all rewards that have something to say, weighed."""
    return sum(part * weights[name] for name, part in parts(episode, weights).items())


def parts(episode: Episode, weights: Mapping[str, float]) -> dict[str, float]:
    """The rewards that have a weight and something to say, by name."""
    given = {name: REWARDS[name](episode) for name, weight in weights.items() if weight}
    return {name: value for name, value in given.items() if value is not None}


def _weights(path: Path) -> dict[str, float]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))["weights"]
        found = {str(name): float(weight) for name, weight in table.items()}
    except OSError as error:
        raise ValueError(f"cannot read the weights {path}: {error.strerror}") from error
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"the weights {path} need a table [weights] of numbers: {error}"
        ) from error
    unknown = found.keys() - REWARDS.keys()
    if unknown:
        raise ValueError(
            f"{path}: there is no reward {min(unknown)!r}; there are {', '.join(REWARDS)}"
        )
    return found


def _to_the_point(episode: Episode) -> float:
    """How far what the agent reads tells what was wanted; 1 where nothing says what that is."""
    about = episode.turn.about
    return _credit(episode.delivered, about) if about else 1.0


def _credit(text: str, about: str) -> float:
    return min(1.0, max(0.0, (same_matter(text, about) - OTHER) / (SAME - OTHER)))


def _saved(op: BankOp) -> str:
    return op.content if isinstance(op, SaveKnowledge | SaveProcedural) else ""


def _changes(before: MemoryBank, after: MemoryBank) -> int:
    """How many entries differ, the status counted as one."""
    ids = before.entries.keys() | after.entries.keys()
    return sum(before.get(id) != after.get(id) for id in ids) + (before.status != after.status)


def _beyond(value: float, free: float, all: float) -> float:
    return min(1.0, max(0.0, (value - free) / (all - free)))
