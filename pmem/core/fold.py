"""How one more attempt changes an entry, what contradicts another, and a person's own changes."""

from __future__ import annotations

import re
from dataclasses import replace

from pmem.core.entry import MAX_STEPS_KEPT, Amend, Entry, RecordAttempt
from pmem.core.text import quotation

#: What may stand after a command that a sentence names; anything else is another command.
_ENDS = re.compile(
    r"\s*(?:[`'\":;,)\]]|\.(?:\s|$)|$|\((?:step|exit)|(?:in|at|with|when|because|until|again|still|always"
    r"|does|is|was|never|cannot|fail\w*|exit\w*|ends?|stops?|crash\w*|times? out|timed out)\b)",
    re.IGNORECASE,
)
_WAY_OUT = re.compile(r"\b(?:pass|succe|work|fix|solv|need|after|run|use)", re.IGNORECASE)
_PLACE = re.compile(r"\bin `?([\w.@/-]+)/(?=[\s`:;,.)]|$)")


def fold(old: Entry | None, op: RecordAttempt, *, id: str) -> Entry:
    """The entry after one more attempt.

    A content that a person or a model wrote is kept; one that pmem wrote is written anew.
    """
    if old is None:
        old = Entry("procedural", id, "", command=op.command, cwd=op.cwd)
    same_session = old.session == op.session
    failed = old.failed_steps if same_session else ()
    passed = old.passed_steps if same_session else ()
    if op.failed:
        failed = (*failed, op.step)[-MAX_STEPS_KEPT:]
    else:
        passed = (*passed, op.step)[-MAX_STEPS_KEPT:]
    new = replace(
        old,
        outcome="failed" if op.failed else "succeeded",
        attempts=old.attempts + 1,
        exit_code=op.exit_code,
        failure=op.failure if op.failed else old.failure,
        output=op.output,
        first_step=old.first_step if same_session and old.first_step is not None else op.step,
        last_step=op.step,
        failed_steps=failed,
        passed_steps=passed,
        session=op.session,
        source=old.source or f"step {op.step} of {op.session}",
    )
    written_by_pmem = is_our_own(old)
    if not written_by_pmem:
        return new
    return replace(new, content=describe(new), stale="")


def amended(entry: Entry | None, op: Amend) -> Entry:
    """The entry with a person's changes. Raises ValueError for a conflict or a missing entry."""
    if entry is None:
        raise ValueError(f"{op.id} is not in the bank any more")
    for name, value in op.after.items():
        if getattr(entry, name) not in (op.before.get(name), value):
            raise ValueError(f"{op.id}: {name} was changed by somebody else meanwhile")
    return replace(entry, **op.after)


def is_our_own(entry: Entry) -> bool:
    """Whether a content is pmem's own sentence, or the one that an earlier version wrote."""
    own = describe(entry)
    earlier = own.replace(quotation(entry.failure), entry.failure) if entry.failure else own
    return entry.content in ("", own, earlier)


def describe(entry: Entry) -> str:
    """The sentence pmem writes for a folded command, from the entry's own fields.

    >>> describe(Entry("procedural", "t", "", command="make", attempts=1, failed_steps=(2,),
    ...                exit_code=2))
    'make: failed at step 2 (exit 2).'
    """
    where = f" in {entry.cwd}/" if entry.cwd else ""
    parts = []
    if entry.failed_steps:
        why = quotation(entry.failure) if entry.failure else ""
        if not why and entry.exit_code and entry.outcome == "failed":
            why = f"exit {entry.exit_code}"
        parts.append(f"failed at {_steps(entry.failed_steps)}" + (f" ({why})" if why else ""))
    if entry.passed_steps:
        parts.append(f"passed at {_steps(entry.passed_steps)}")
    earlier = entry.attempts - len(entry.failed_steps) - len(entry.passed_steps)
    if earlier > 0:
        parts.append(f"{earlier} earlier attempt{'s' if earlier > 1 else ''}")
    return f"{entry.command}{where}: {'; '.join(parts)}."


def _steps(numbers: tuple[int, ...]) -> str:
    joined = ", ".join(str(n) for n in numbers)
    return f"step{'s' if len(numbers) > 1 else ''} {joined}"


def contradicts(op: RecordAttempt, entry: Entry) -> bool:
    """Whether a success shows that what an entry says of a failure holds no more.

    The entry says that the same command fails, in the same directory, and names no way out. What
    a person wrote stands, and so do sentences of pmem's own, which change with each attempt.
    """
    if entry.section != "procedural" or entry.outcome != "failed" or entry.source == "user":
        return False
    if entry.command:
        if (entry.command, entry.cwd) != (op.command, op.cwd):
            return False
        says = not is_our_own(entry)
    else:
        place = _PLACE.search(entry.content)
        says = _names(entry.content, op.command) and (place[1] if place else "") == op.cwd
    return says and _WAY_OUT.search(entry.content) is None


def _names(content: str, command: str) -> bool:
    at = content.find(command)
    while command and at >= 0:
        before = content[at - 1] if at else " "
        if not (before.isalnum() or before in "./-_") and _ENDS.match(content, at + len(command)):
            return True
        at = content.find(command, at + 1)
    return False
