"""What calls cost: a table of prices that its user may edit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmem.models.protocol import Usage

#: In the user's own configuration directory; its prices win.
NAME = "prices.toml"
MILLION = 1_000_000

_DATED = re.compile(r"(?:-(?:\d{8}|\d{4}-\d\d-\d\d|latest))?")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; `read` from a cache, `write` to one."""

    input: float
    output: float
    read: float
    write: float

    def of(self, usage: Usage) -> float:
        """What a usage costs, in US dollars."""
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.read
            + usage.cache_write * self.write
        ) / MILLION


class Prices:
    """Prices by provider and a model's name; the longest name that fits counts."""

    def __init__(self, table: Mapping[str, Mapping[str, Price]]) -> None:
        self._table = table

    def price(self, name: str) -> Price | None:
        """The price of `PROVIDER:MODEL`, None if nobody wrote it down."""
        provider, _, model = name.partition(":")
        known = self._table.get(provider, {})
        fits = [name for name in known if _is(model, name)]
        return known[max(fits, key=len)] if fits else None

    def money(self, name: str, usage: Usage) -> float | None:
        """What a usage cost, in US dollars: as the provider told it, else by the table."""
        if usage.money is not None:
            return usage.money
        price = self.price(name)
        return None if price is None else price.of(usage)


def _is(model: str, name: str) -> bool:
    """Whether a model is the one of this name, perhaps as it was on a day."""
    if name.endswith("*"):
        return model.startswith(name[:-1])
    return model.startswith(name) and bool(_DATED.fullmatch(model, len(name)))


def load_prices(own: Path | None = None) -> Prices:
    """The table that ships with pmem, and over it the user's own file where there is one.

    Raises ValueError naming the file and the model at fault.
    """
    table = _read(Path(__file__).with_name(NAME))
    if own is not None and own.is_file():
        for provider, models in _read(own).items():
            table[provider] = {**table.get(provider, {}), **models}
    return Prices(table)


def _read(path: Path) -> dict[str, dict[str, Price]]:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    table: dict[str, dict[str, Price]] = {}
    for provider, models in found.items():
        if not isinstance(models, dict):
            raise ValueError(f"{path}: {provider} must be a table of models")
        table[provider] = {name: _price(row, f"{path}: {name}") for name, row in models.items()}
    return table


def _price(row: Any, where: str) -> Price:
    if not isinstance(row, dict):
        raise ValueError(f"{where} must have input and output")
    try:
        paid, written = float(row["input"]), float(row["output"])
        return Price(paid, written, float(row.get("read", paid)), float(row.get("write", paid)))
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{where} needs the numbers input and output, and may have read, write"
        ) from None
