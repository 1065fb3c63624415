"""What a session's model took, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmem.cli.words import count
from pmem.review.spent import of_model

__all__ = ["in_words", "of_model"]


def in_words(taken: Mapping[str, Any]) -> str:
    """The same in one line for a person."""
    return (
        f"{taken['name']}: {count(taken['calls'], 'call')}, {taken['tokens']:,} tokens"
        f" ({taken['cached']:.0%} of input from cache), ${taken['money']:.2f},"
        f" {taken['ms'] / 1000:.1f} s a step, silent in {taken['silence']:.0%}"
    )
