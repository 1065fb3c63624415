"""Which entries of a bank a model is shown: those that bear on what is at hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from pmem.core.bank import Entry, MemoryBank
from pmem.core.moment import Moment
from pmem.core.tokens import tokens
from pmem.core.watch import State

#: Entries shown at most; a bank that is not larger is shown whole.
SHOWN = 14
#: The paper's: of a larger bank the best of each section.
PURE_WHOLE, PURE_BEST = 50, 20
#: Tags of entries that bear on everything.
_ALWAYS = frozenset({"requirement", "constraint", "task"})
#: The usual constants of BM25.
_K1, _B = 1.5, 0.75


def chosen(moment: Moment, *, pure: bool = False) -> tuple[list[Entry], list[Entry]]:
    """The entries to show, in the bank's order, and those left out, the best first."""
    entries = [e for e in moment.bank.entries.values() if not e.stale]
    if pure:
        return _pure(moment.bank, _at_hand(moment))
    live = [e for e in entries if moment.watches.get(e.id) != State.SPENT or e.tags]
    if len(live) <= SHOWN:
        return live, []
    scores = scored(live, _at_hand(moment))
    newest = {e.id for e in live[-4:]}

    def worth(e: Entry) -> float:
        bonus = 3.0 * (e.when is not None and moment.watches.get(e.id, "armed") == State.ARMED)
        bonus += 2.0 * (not _ALWAYS.isdisjoint(e.tags) or e.source == "user")
        bonus += 1.0 * (e.outcome == "failed") + 2.0 * (e.id in newest)
        return scores[e.id] + bonus

    ranked = sorted(live, key=worth, reverse=True)
    kept = {e.id for e in ranked[:SHOWN]}
    return [e for e in live if e.id in kept], ranked[SHOWN:]


def scored(entries: Sequence[Entry], query: Iterable[str]) -> dict[str, float]:
    """BM25 of each entry for the words of a query, by id."""
    texts = {e.id: Counter(tokens(f"{e.content} {e.command} {' '.join(e.tags)}")) for e in entries}
    lengths = {id: sum(words.values()) for id, words in texts.items()}
    mean = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    scores = dict.fromkeys(texts, 0.0)
    for word in set(query):
        holding = [id for id, words in texts.items() if word in words]
        if not holding:
            continue
        rare = math.log(1 + (len(texts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for id in holding:
            n = texts[id][word]
            scores[id] += rare * n * (_K1 + 1) / (n + _K1 * (1 - _B + _B * lengths[id] / mean))
    return scores


def _pure(bank: MemoryBank, query: list[str]) -> tuple[list[Entry], list[Entry]]:
    entries = [e for e in bank.entries.values() if not e.stale]
    if len(entries) <= PURE_WHOLE:
        return entries, []
    kept: set[str] = set()
    for section in (bank.knowledge, bank.procedural):
        scores = scored([e for e in section if not e.stale], query)
        kept.update(sorted(scores, key=lambda id: -scores[id])[:PURE_BEST])
    return [e for e in entries if e.id in kept], []


def _at_hand(moment: Moment) -> list[str]:
    """The words of the last steps: actions in full, outputs at their end."""
    words: list[str] = []
    for step in moment.window[-4:]:
        words += tokens(f"{step.action[:1000]} {step.thought[:500]} {step.observation[-600:]}")
    if not moment.window:
        words += tokens(moment.task[:2000])
    return words
