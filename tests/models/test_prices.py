"""What calls cost: the table, the user's own over it, and models nobody priced."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmem.models.prices import load_prices
from pmem.models.protocol import Usage

MILLION = 1_000_000


def test_the_longest_beginning_counts() -> None:
    prices = load_prices()
    mini, large = prices.price("openai:gpt-5-mini-2026"), prices.price("openai:gpt-5.2")
    assert mini is not None and large is not None
    assert mini.input < large.input


def test_what_is_read_from_a_cache_costs_less() -> None:
    prices = load_prices()
    fresh = prices.money("anthropic:claude-sonnet-4-5", Usage(input=MILLION))
    cached = prices.money("anthropic:claude-sonnet-4-5", Usage(cache_read=MILLION))
    assert fresh == 3.0
    assert cached == 0.3


def test_the_user_s_own_prices_win(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text("[openai.gpt-5]\ninput = 9\noutput = 9\n[openai.house]\ninput = 1\noutput = 2\n")
    prices = load_prices(own)
    assert prices.money("openai:gpt-5", Usage(input=MILLION)) == 9.0
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
