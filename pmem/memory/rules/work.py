"""Has a kind of work (tests, lint, …) been done since the last edit?"""

from __future__ import annotations

import re
from functools import cache

from pmem.core.effect import Effect
from pmem.core.history import Facts, History
from pmem.memory.rules.phrases import data

#: Commands that change files, where the step is no edit of the agent's own tool.
_EDITS = re.compile(
    r"(?:^|[\s;&|])(?:sed -i|perl -[a-z]*i|patch|mv|cp|rm|tee|git (?:apply|checkout|restore|stash"
    r"|merge|rebase|pull|reset|cherry-pick|revert))\b|(?<![0-9&>-])>{1,2} *(?!/dev/null|&)"
)


def last_edit(history: History) -> Facts | None:
    """The newest step that changed a file, None if none is remembered."""
    for facts in reversed(history.facts):
        if facts.failed:
            continue
        if facts.kind == "edit":
            return facts
        if (
            facts.effect is Effect.CHANGES
            and facts.kind == "command"
            and _EDITS.search(facts.normal)
        ):
            return facts
    return None


def ran_since(work: str, history: History) -> bool:
    """Whether a command of this kind of work passed after the last edit."""
    edit = last_edit(history)
    since = edit.number if edit is not None else 0
    for facts in reversed(history.facts):
        if facts.number <= since:
            return False
        if facts.kind == "command" and not facts.failed and _does(work).search(facts.normal):
            return True
    return False


@cache
def _does(work: str) -> re.Pattern[str]:
    return re.compile(data("prohibitions")["work"][work][1], re.I)
