"""What a session's model took, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmem.cli.words import count
from pmem.review.spent import of_model

__all__ = ["in_words", "of_model"]


def dollars(money: float) -> str:
    """`, $0.0042` behind a number of tokens; "" where no price is known.

    >>> dollars(0.0042), dollars(12.5), dollars(0.0)
    (', $0.0042', ', $12.50', '')
    """
    if not money:
        return ""
    return f", ${money:.2f}" if money >= 1 else f", ${money:.4f}"


def in_words(taken: Mapping[str, Any]) -> str:
    """The same in one line for a person."""
    failed = f" ({taken['failed']} failed)" if taken["failed"] else ""
    tokens = f", {taken['tokens']:,} tokens ({taken['cached']:.0%} of input from cache)"
    return (
        f"{taken['name']}: {count(taken['calls'], 'call')}{failed}"
        f"{tokens if taken['tokens'] else ''}{dollars(taken['money'])},"
        f" {taken['ms'] / 1000:.1f} s a step, silent in {taken['silence']:.0%}"
    )
