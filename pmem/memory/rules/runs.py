"""The runs of a command: what they have in common, what came after them, how they are told."""

from __future__ import annotations

from collections.abc import Sequence

from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.place import place
from pmem.core.text import quotation
from pmem.memory.rules.phrases import phrase, quoted

#: A failure line is quoted up to this many characters.
MAX_WHY = 110


def alike(runs: Sequence[Facts]) -> list[Facts]:
    """The newest runs that failed one after the other in the same way, oldest first."""
    found: list[Facts] = []
    for run in reversed(runs):
        if not run.failed or (found and not _same_failure(run, found[-1])):
            break
        found.append(run)
    return found[::-1]


def _same_failure(a: Facts, b: Facts) -> bool:
    if a.exit_code != b.exit_code:
        return False
    return a.fingerprint == b.fingerprint or bool(a.failure and a.failure == b.failure)


def moved_on(moment: Moment, since: Facts) -> bool:
    """Whether something was changed since a step, or the user has spoken, as far as recorded."""
    return moment.history.changes > since.change or any(
        number > since.number for number, _ in moment.user_messages
    )


def told(facts: Facts, moment: Moment, lang: str) -> str:
    """A command as a reminder names it, with its directory where that is not the project's."""
    cwd = place(facts.cwd, moment.project)
    if not cwd:
        return quoted(facts.normal)
    return phrase("in_directory", lang, command=quoted(facts.normal), cwd=cwd)


def why(facts: Facts, lang: str) -> str:
    """Exit code and failure line in brackets, "" if neither is known."""
    parts = []
    if facts.exit_code:
        parts.append(phrase("exit", lang, code=facts.exit_code))
    if facts.failure:
        parts.append(quotation(facts.failure[:MAX_WHY]))
    return phrase("why", lang, why=": ".join(parts)) if parts else ""
