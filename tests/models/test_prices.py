"""What calls cost: the table, the user's own over it, and models nobody priced."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import pmem.models
from pmem.models.prices import load_prices
from pmem.models.protocol import Usage

MILLION = 1_000_000
SHIPPED = Path(pmem.models.__file__).with_name("prices.toml")


@pytest.mark.parametrize(
    ("name", "paid"),
    [
        ("claude-sonnet-4-5", 3.0),
        ("claude-sonnet-4-5-20250929", 3.0),
        ("claude-haiku-4-5-latest", 1.0),
        ("claude-opus-5", 5.0),
        ("claude-opus-5-5", 4.0),
        ("claude-opus-5-9", None),
        ("claude-sonnet-4-5-turbo", None),
        ("claude-sonnet", None),
        ("", None),
    ],
)
def test_a_price_is_of_the_model_named_and_of_no_other(name: str, paid: float | None) -> None:
    assert load_prices().money(f"anthropic:{name}", Usage(input=MILLION)) == paid


def test_the_longest_name_counts(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('[openai."a*"]\ninput = 1\noutput = 1\n[openai.a-b]\ninput = 2\noutput = 2\n')
    prices = load_prices(own)
    assert prices.money("openai:a-b-2026-09-22", Usage(input=MILLION)) == 2.0
    assert prices.money("openai:a-c", Usage(input=MILLION)) == 1.0


def test_every_price_that_ships_is_less_from_a_cache_than_fresh() -> None:
    table = tomllib.loads(SHIPPED.read_text("utf-8"))
    for provider, models in table.items():
        for name in models:
            price = load_prices().price(f"{provider}:{name}")
            assert price is not None and 0 < price.read < price.input < price.output
            assert price.input <= price.write


def test_what_is_read_from_a_cache_costs_less() -> None:
    prices = load_prices()
    fresh = prices.money("anthropic:claude-sonnet-4-5", Usage(input=MILLION))
    cached = prices.money("anthropic:claude-sonnet-4-5", Usage(cache_read=MILLION))
    assert fresh == 3.0
    assert cached == 0.3


def test_the_user_s_own_prices_win(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    mine = '[openai."gpt-5.5"]\ninput = 9\noutput = 9\n'
    own.write_text(f'{mine}[openai."house*"]\ninput = 1\noutput = 2\n')
    prices = load_prices(own)
    assert prices.money("openai:gpt-5.5", Usage(input=MILLION)) == 9.0
    assert prices.money("openai:house-7b", Usage(output=MILLION)) == 2.0


def test_a_model_without_a_price_has_none() -> None:
    assert load_prices().money("command:./model.sh", Usage(input=5)) is None


def test_what_the_provider_says_counts() -> None:
    assert load_prices().money("anthropic:claude-sonnet-4-5", Usage(input=9, money=0.25)) == 0.25


@pytest.mark.parametrize(
    "text", ["[", "openai = 3\n", "[openai.x]\ninput = 1\n", "[openai]\nx = 1\n"]
)
def test_a_broken_table_is_told_with_its_place(tmp_path: Path, text: str) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(ValueError, match=r"prices\.toml"):
        load_prices(own)
