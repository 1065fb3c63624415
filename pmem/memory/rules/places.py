"""Directories as the bank writes them."""

from __future__ import annotations

from pmem.core.bank import Entry
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.place import place


def attempts_entry(facts: Facts, moment: Moment) -> Entry | None:
    """The bank's entry of a command's attempts."""
    return moment.bank.attempt(facts.normal, place(facts.cwd, moment.project))
