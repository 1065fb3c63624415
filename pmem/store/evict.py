"""What leaves the bank when it is full: what is least likely to be needed, oldest first."""

from __future__ import annotations

import re
from collections.abc import Collection

from pmem.core.bank import Entry, MemoryBank
from pmem.core.fold import is_our_own

#: Tags of what must be obeyed.
BINDING = frozenset({"constraint", "requirement", "user"})

#: Why an entry left, by rank; the later ones only leave when nothing else is there.
REASONS = ("plain success", "old failure", "cited or refined", "remedy", "kept longest")


def evict(bank: MemoryBank, limit: int, cited: Collection[str] = ()) -> list[tuple[Entry, str]]:
    """Take entries out of the bank until `limit` are left; returns them with the reason.

    `cited` are ids that reminders cited; what other entries name counts as cited too.
    """
    surplus = len(bank.entries) - limit
    if surplus <= 0:
        return []
    own = {entry.id for entry in bank.entries.values() if is_our_own(entry)}
    named = {*cited, *_named(bank, own)}
    ranks = {e.id: rank(e, e.id in named, e.id in own) for e in bank.entries.values()}
    order = {id: n for n, id in enumerate(bank.entries)}
    ranked = sorted(
        bank.entries.values(),
        key=lambda e: (ranks[e.id], e.session, e.last_step or 0, order[e.id]),
    )
    leaving = [(entry, REASONS[ranks[entry.id]]) for entry in ranked[:surplus]]
    for entry, _ in leaving:
        bank.remove(entry.id)
    return leaving


def rank(entry: Entry, cited: bool, own: bool) -> int:
    """How long an entry stays, 0 leaves first: whether it was cited, and is pmem's own sentence."""
    if entry.when or entry.source == "user" or not BINDING.isdisjoint(entry.tags):
        return 4
    if entry.section == "knowledge":
        return 2
    passed = entry.outcome == "succeeded"
    failed_before = bool(entry.failed_steps or entry.failure)
    if (passed and failed_before) or (not passed and entry.passed_steps):
        return 3
    if cited or not own or entry.outcome not in ("failed", "succeeded"):
        return 2
    return 0 if passed else 1


def _named(bank: MemoryBank, own: Collection[str]) -> set[str]:
    """Words of the texts that a mind wrote; those that are ids name their entries."""
    texts = [bank.status]
    for entry in bank.entries.values():
        if entry.section == "knowledge" or entry.id not in own:
            texts.append(entry.content)
    return {word.rstrip(".-") for word in re.findall(r"[\w.-]+", "\n".join(texts).lower())}
