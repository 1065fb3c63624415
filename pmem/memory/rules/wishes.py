"""What the user asks for: the commands and acts their words name, but do not forbid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pmem.memory.rules.constraints import constraints, patterns
from pmem.memory.rules.mention import Pattern


@dataclass(frozen=True, slots=True)
class Wish:
    """A command the user named."""

    command: Pattern

    def covers(self, forbidden: Pattern) -> bool:
        """Whether it is the forbidden command, or a narrower form of it."""
        own, other = self.command, forbidden
        return (
            own.program == other.program
            and own.words[: len(other.words)] == other.words
            and all(any(f & g for g in own.flags) for f in other.flags)
        )


@lru_cache(maxsize=64)
def mentions(text: str) -> tuple[Wish, ...]:
    """The commands a text names outside its prohibitions."""
    forbidden = {p for c in constraints(text) for p in c.commands}
    return tuple(Wish(p) for p in patterns(text[:20_000]) if p not in forbidden)
