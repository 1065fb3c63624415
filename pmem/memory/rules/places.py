"""Directories as the bank writes them."""

from __future__ import annotations

import os

from pmem.core.bank import Entry
from pmem.core.history import Facts
from pmem.core.moment import Moment


def place(cwd: str, project: str) -> str:
    """A directory relative to the project, "" for its root."""
    if not cwd or not project or cwd == project:
        return ""
    if cwd.startswith(project.rstrip("/") + "/"):
        return os.path.relpath(cwd, project)
    return cwd


def attempts_entry(facts: Facts, moment: Moment) -> Entry | None:
    """The bank's entry of a command's attempts."""
    return moment.bank.attempt(facts.normal, place(facts.cwd, moment.project))
