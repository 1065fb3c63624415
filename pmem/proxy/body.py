"""A request's body, read once: its text, its members, its items and what each of them tells."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmem.proxy.splice import Place, inserted, members
from pmem.proxy.wire import Entry, Wire

#: A larger body is passed on unread, in bytes: no service takes one of that size.
MAX_BODY = 64 * 1024 * 1024
#: So many items are remembered by their bytes, then none of them.
MAX_KNOWN = 200_000

#: The print of an item as it was sent, and of what it says.
Known = dict[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Body:
    """A conversation as it was sent.

    `prints[n]` stands for the first n items: bodies that begin alike have the same print, whatever
    cache marks were moved.
    """

    wire: Wire
    text: str
    about: Mapping[str, Any]
    items: Sequence[Place]
    prints: Sequence[bytes]

    @property
    def values(self) -> list[Any]:
        """The items."""
        return [item.value for item in self.items]

    @property
    def entries(self) -> list[list[Entry]]:
        """What each item tells."""
        return self.wire.entries(self.values)

    def with_words(self, placed: Sequence[tuple[int, str]]) -> bytes:
        """The body with words behind items, each by its number from 0. Raises ValueError."""
        insertions = [
            insertion
            for number, words in placed
            for insertion in self.wire.placed(self.text, self.items[number], words)
        ]
        return inserted(self.text, insertions).encode("utf-8")

    def takes_words(self, number: int) -> bool:
        """Whether words can be put behind an item."""
        return bool(self.wire.placed(self.text, self.items[number], "."))


def read(wire: Wire, data: bytes, known: Known | None = None) -> Body | None:
    """The body, None for one that holds no conversation. Raises ValueError if it is no JSON.

    `known` remembers what was printed before: most of a conversation was sent before.
    """
    if len(data) > MAX_BODY:
        return None
    text = data.decode("utf-8")
    try:
        found = members(text, array=wire.array)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    conversation = found.pop(wire.array, None)
    about = {name: place.value for name, place in found.items()}
    if conversation is None or not _taken_apart(conversation.value):
        return None
    items: list[Place] = conversation.value
    seed = f"{wire.name} {wire.before(about)}"
    known = {} if known is None else known
    if len(known) > MAX_KNOWN:
        known.clear()
    return Body(wire, text, about, items, prints(wire, seed, text, items, known))


def prints(wire: Wire, seed: str, text: str, items: Sequence[Place], known: Known) -> list[bytes]:
    """One print more than there are items: of nothing, of the first, of the first two, …"""
    now = _print(seed.encode("utf-8", "replace"))
    found = [now]
    for item in items:
        raw = _print(text[item.start : item.end].encode())
        if raw not in known:
            words = json.dumps(wire.same(item.value), sort_keys=True, separators=(",", ":"))
            known[raw] = _print(words.encode())
        now = _print(now + known[raw])
        found.append(now)
    return found


def _print(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _taken_apart(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Place)
