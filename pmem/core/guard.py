"""Guard: the mechanical checks a candidate reminder must pass before anyone sees it.

It cites entries that exist, names something of this session, does not show the private status,
does not tell what the last step shows or what was told before, and fits 60 words and 400
characters: a longer one is shortened, after a sentence if it can be, else after a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pmem.core.bank import Entry
from pmem.core.concrete import concrete
from pmem.core.decision import Decision, Reminder, Silence
from pmem.core.moment import Moment
from pmem.core.orders import gives_orders
from pmem.core.said import Said
from pmem.core.step import Step
from pmem.core.text import clean, neutralise, shorten
from pmem.core.tokens import tokens
from pmem.core.visible import visible

__all__ = ["MAX_CHARS", "MAX_WORDS", "Said", "guard"]

MAX_WORDS = 60
MAX_CHARS = 400
#: What is looked at of the last observation, head and tail, in characters.
_LOOKED_AT = 12_000
_ACTION = 1000
#: So many words in a row from the status are the status.
_STATUS_RUN = 12

_WRAPPING = re.compile(
    r"\A(?:\s*(?:</?context_for_action>|[\[(]\s*MEMORY\s+REMINDER\s*[\])])\s*:?)+"
    r"|</?context_for_action>\s*\Z",
    re.IGNORECASE,
)


def guard(reminder: Reminder, moment: Moment, said: Said) -> Decision:
    """The reminder as it may be shown, cleaned and cut to length; or Silence with the reason.

    Nothing is remembered here: `said.add` is called when the reminder has been given.
    """
    if reminder.whole:
        note = neutralise(clean(reminder.text)).strip()
        if _shows_status(note, moment.bank.status, moment.bank.entries.values()):
            return Silence("it shows the private status")
        return replace(reminder, text=note) if note else Silence("the reminder is empty")
    text = tidy(reminder.text)
    if not text:
        return Silence("the reminder is empty")
    cited = [e for e in map(moment.bank.get, dict.fromkeys(reminder.entries)) if e is not None]
    if not cited:
        return Silence("it cites no entry of the bank")
    if gives_orders(text) and _worded_by_a_model(reminder, cited):
        return Silence("it would have the agent drop its instructions")
    if not concrete(text, cited):
        return Silence("general advice: it names no step, path, command or recorded fact")
    if _shows_status(text, moment.bank.status, cited):
        return Silence("it shows the private status")
    last = moment.last_step
    if last is not None and visible(text, _shown(last)):
        return Silence(f"the last step (step {last.number}) shows it already")
    reminder = replace(reminder, text=text, entries=tuple(e.id for e in cited))
    told = said.refuses(reminder, moment)
    if told:
        return Silence(told)
    return replace(reminder, text=shorten(text, MAX_WORDS, MAX_CHARS))


def _worded_by_a_model(reminder: Reminder, cited: Iterable[Entry]) -> bool:
    return reminder.reason == "model" or any(entry.source == "model" for entry in cited)


def tidy(text: str) -> str:
    """A reminder's text on one line, without header, control characters and look-alike tags."""
    text = _WRAPPING.sub("", clean(text[: 20 * MAX_CHARS]).strip())
    return " ".join(neutralise(text).split())


def _shown(step: Step) -> str:
    """What the last step shows: what was done, and what came of it."""
    observation = step.observation
    if len(observation) > _LOOKED_AT:
        half = _LOOKED_AT // 2
        observation = f"{observation[:half]}\n{observation[-half:]}"
    return f"{step.action[:_ACTION]}\n{observation}" if observation else ""


def _shows_status(text: str, status: str, entries: Iterable[Entry]) -> bool:
    """Whether a run of words stands in the text and in the status, and in none of the entries."""
    private = _runs(text) & _runs(status)
    for entry in entries if private else ():
        private -= _runs(f"{entry.content}\n{entry.command}\n{entry.failure}")
    return bool(private)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = tokens(text)
    return {tuple(words[i : i + _STATUS_RUN]) for i in range(len(words) - _STATUS_RUN + 1)}
