"""Ledger: what the model's calls of a session took, kept for who looks later, and their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pmem.memory.model.agent import Exchange
from pmem.models.prices import Prices
from pmem.models.protocol import Usage


class Day(Protocol):
    """What all sessions of a day spent."""

    def add(self, tokens: int, money: float) -> None: ...

    def total(self) -> tuple[int, float]:
        """Tokens and US dollars of today, this session's included."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens and US dollars a session and a day may take; 0: no limit."""

    session_tokens: int = 0
    session_money: float = 0.0
    day_tokens: int = 0
    day_money: float = 0.0


@dataclass
class Ledger:
    """Adds up exchanges. `keep` stores one raw record, `redact` takes secrets out of it."""

    model: str
    prices: Prices
    limits: Limits = field(default_factory=Limits)
    day: Day | None = None
    keep: Callable[[Mapping[str, Any]], None] = lambda record: None
    redact: Callable[[str], str] = str
    usage: Usage = field(default_factory=Usage)
    money: float = 0.0
    calls: int = 0

    def enter(self, exchanges: Sequence[Exchange]) -> dict[str, Any]:
        """Count the calls of one memory step; returns what its decision records of them."""
        usage, money, numbers = Usage(), 0.0, []
        for exchange in exchanges:
            self.calls += 1
            numbers.append(self.calls)
            usage += exchange.usage
            money += self.prices.money(self.model, exchange.usage) or 0.0
            self.keep(self._raw(exchange))
        self.usage += usage
        self.money += money
        if self.day is not None and exchanges:
            self.day.add(usage.tokens, money)
        return {
            "name": self.model,
            "calls": numbers,
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "money": round(money, 6),
            "ms": round(sum(e.seconds for e in exchanges) * 1000, 1),
            **(
                {"errors": [e.error for e in exchanges if e.error]}
                if any(e.error for e in exchanges)
                else {}
            ),
        }

    def spent(self) -> str:
        """Which limit is reached, in one sentence; "" if none is."""
        today = self.day.total() if self.day is not None else (0, 0.0)
        for name, limit, value, unit in (
            ("session_tokens", self.limits.session_tokens, self.usage.tokens, "tokens"),
            ("session_money", self.limits.session_money, self.money, "US dollars"),
            ("day_tokens", self.limits.day_tokens, today[0], "tokens"),
            ("day_money", self.limits.day_money, today[1], "US dollars"),
        ):
            if limit and value >= limit:
                shown = f"{limit:g} {unit}"
                return (
                    f"the limit {name} of {shown} is reached, rules only from here;"
                    f" pmem config {name} N raises it"
                )
        return ""

    def _raw(self, exchange: Exchange) -> dict[str, Any]:
        request, reply = exchange.request, exchange.reply
        raw = {
            "n": self.calls,
            "model": self.model,
            "phase": request.phase,
            "seconds": round(exchange.seconds, 3),
            "system": request.system,
            "tools": [tool.name for tool in request.tools],
            "messages": [
                {
                    "role": m.role,
                    "text": m.text,
                    **(
                        {"calls": [[c.name, dict(c.arguments)] for c in m.calls]} if m.calls else {}
                    ),
                    **({"results": [r.text for r in m.results]} if m.results else {}),
                }
                for m in request.messages
            ],
        }
        if reply is not None:
            raw["answer"] = reply.text
            raw["calls"] = [[c.name, dict(c.arguments)] for c in reply.calls]
            raw["usage"] = {
                "input": reply.usage.input,
                "output": reply.usage.output,
                "cache_read": reply.usage.cache_read,
                "cache_write": reply.usage.cache_write,
            }
        if exchange.error:
            raw["error"] = exchange.error
        redacted = _redacted(raw, self.redact)
        assert isinstance(redacted, dict)
        return redacted


def _redacted(thing: Any, redact: Callable[[str], str]) -> Any:
    """The same values with every text in them redacted."""
    if isinstance(thing, str):
        return redact(thing)
    if isinstance(thing, dict):
        return {key: _redacted(value, redact) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_redacted(value, redact) for value in thing]
    return thing
