"""What a reminder stands on: the entries it cites, and whether it gives their own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2s

from pmem.core.bank import Entry, MemoryBank
from pmem.core.tokens import tokens

#: A text shares at least so many telling words with an entry it is credited to.
SHARED = 4
#: So large a part of a reminder's words stands in its entries if it is verbatim.
VERBATIM = 0.8

_NAMED = re.compile(r"[\[`(]([\w.-]{2,48})[\]`)]")


def cited(text: str, named: Sequence[str], bank: MemoryBank) -> tuple[str, ...]:
    """The ids of the entries a reminder stands on.

    Those it names, else those whose ids stand in its text in brackets, else the one entry it
    shares most words with; none if it shares few.
    """
    found = dict.fromkeys(id for id in named if bank.get(id) is not None)
    found = found or dict.fromkeys(id for id in _NAMED.findall(text) if bank.get(id) is not None)
    if found:
        return tuple(found)
    words = set(tokens(text))
    shared = {e.id: len(words & set(tokens(f"{e.content} {e.command}"))) for e in _facts(bank)}
    best = max(shared, key=lambda id: shared[id], default="")
    return (best,) if best and shared[best] >= SHARED else ()


def form(text: str, entries: Sequence[Entry]) -> str:
    """`verbatim` if most words of a reminder are its entries' own, else `abstract`."""
    words = tokens(text)
    known = {word for e in entries for word in tokens(f"{e.content} {e.command} {e.failure}")}
    inside = sum(word in known for word in words)
    return "verbatim" if words and inside / len(words) >= VERBATIM else "abstract"


def cause(entries: Sequence[Entry]) -> str:
    """The key under which a reminder counts as said: its entries as they stand now.

    An entry that was rewritten since is new evidence.
    """
    state = "\n".join(f"{e.id}\t{e.content}\t{e.attempts}" for e in entries)
    digest = blake2s(state.encode("utf-8", "replace"), digest_size=6).hexdigest()
    return f"model:{'+'.join(e.id for e in entries)}:{digest}"


def _facts(bank: MemoryBank) -> list[Entry]:
    return list(bank.entries.values())
