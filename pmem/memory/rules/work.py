"""Kinds of work (tests, lint, …): which command does them, and when one last passed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from pmem.core.effect import Effect
from pmem.core.history import Facts, History
from pmem.memory.rules.phrases import data
from pmem.memory.rules.recent import target

#: Commands that change files, where the step is no edit of the agent's own tool.
_EDITS = re.compile(
    r"(?:^|[\s;&|])(?:sed -i|perl -[a-z]*i|patch|mv|cp|rm|tee|git (?:apply|checkout|restore|stash"
    r"|merge|rebase|pull|reset|cherry-pick|revert))\b|(?<![0-9&>-])>{1,2} *(?!/dev/null|&)"
)


def work_of(command: str) -> Iterator[str]:
    """The kinds of work that a command does."""
    for work in data("prohibitions")["work"]:
        if _does(work).search(command):
            yield work


def last_edit(history: History, *, code: bool = False) -> Facts | None:
    """The newest step that changed a file, None if none is remembered.

    With `code` edits of documents do not count, nor what a command may have changed.
    """
    documents = tuple(data("requirements")["documents"]["suffixes"])
    for facts in reversed(history.facts):
        if facts.failed or facts.refused:
            continue
        if facts.kind == "edit":
            if code and target(facts.normal).endswith(documents):
                continue
            return facts
        if code or facts.kind != "command" or facts.effect is Effect.READS:
            continue
        if _EDITS.search(facts.normal):
            return facts
    return None


def newest_run(work: str, history: History, since: int = 0) -> Facts | None:
    """The newest command of this kind of work that passed after step `since`."""
    for facts in reversed(history.facts):
        if facts.number <= since:
            return None
        if facts.kind != "command" or facts.failed or facts.refused:
            continue
        if _does(work).search(facts.normal):
            return facts
    return None


def ran_since(work: str, history: History) -> bool:
    """Whether a command of this kind of work passed after the last edit."""
    edit = last_edit(history)
    return newest_run(work, history, edit.number if edit is not None else 0) is not None


@cache
def _does(work: str) -> re.Pattern[str]:
    return re.compile(data("prohibitions")["work"][work][1], re.I)
