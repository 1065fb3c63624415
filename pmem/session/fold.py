"""How a finished command enters the bank: folded by its normal form, plain reads left out."""

from __future__ import annotations

from pmem.core.bank import RecordAttempt
from pmem.core.data import table
from pmem.core.history import Facts
from pmem.core.place import place
from pmem.core.signature import parse
from pmem.core.step import PRIVATE, Step
from pmem.core.text import last_lines

#: Commands that only look around: counted as steps, in the bank only if they fail.
LOOKS = frozenset(table("folding")["looks"])
GIT_LOOKS = frozenset(table("folding")["git_looks"])
#: How much of an output an entry keeps.
OUTPUT_LINES = 12
OUTPUT_CHARS = 1200


def attempt(step: Step, facts: Facts, *, project: str, session: str) -> RecordAttempt | None:
    """The operation that folds this step into the bank, None if it does not belong there."""
    if step.kind != "command" or step.refused or step.action == PRIVATE or not facts.normal:
        return None
    if not facts.failed and (step.exit_code or _only_looks(step.action)):
        return None  # a probe that said no, or was interrupted, is neither passed nor failed
    return RecordAttempt(
        command=facts.normal,
        cwd=place(facts.cwd, project),
        failed=facts.failed,
        exit_code=step.exit_code,
        failure=facts.failure,
        output=last_lines(step.observation, OUTPUT_LINES, OUTPUT_CHARS),
        step=step.number,
        session=session,
    )


def _only_looks(command: str) -> bool:
    commands = parse(command)
    return bool(commands) and all(
        c.words
        and not any(operator.startswith(">") for operator, _ in c.redirects)
        and (
            c.words[0] in LOOKS
            or (c.words[0] == "git" and c.words[1:2] and c.words[1] in GIT_LOOKS)
        )
        for c in commands
    )
