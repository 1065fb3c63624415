"""Edits that are not committed are about to be taken away: stash, hard reset, checkout, clean."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pmem.core.bank import BankOp, Delete, SaveKnowledge
from pmem.core.decision import Reminder, Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.signature import parse
from pmem.memory.rules.phrases import file_name, phrase, quoted, steps, task_language
from pmem.memory.rules.recent import back, target
from pmem.memory.rules.rule import Rule

#: The entry that lists them.
ID = "uncommitted-edits"
#: Files told at most.
MAX_FILES = 4
#: Files the entry lists at most.
MAX_LISTED = 12


def keep(moment: Moment) -> Sequence[BankOp]:
    """The files edited and not committed in this session, while there are any."""
    if moment.trigger is Trigger.FIRST_STEP:
        return [Delete(ID)] if moment.bank.get(ID) is not None else []
    files = _uncommitted(moment)
    old = moment.bank.get(ID)
    if not files:
        return [Delete(ID)] if old is not None else []
    some = list(files.items())[-MAX_LISTED:]
    told = ", ".join(f"{file_name(path)} ({steps(n[-3:], 'en')})" for path, n in some)
    more = f" and {len(files) - len(some)} more files" if len(files) > len(some) else ""
    content = f"Edited in this session and not committed: {told}{more}."
    if old is not None and old.content == content:
        return ()
    newest = max(number for numbers in files.values() for number in numbers)
    return [SaveKnowledge(ID, content, ("state",), f"step {newest} of {moment.session}")]


def look(moment: Moment) -> Reminder | None:
    """Silent where the same line brings them back, and for files of others."""
    action = moment.proposed
    if action is None or action.kind != "command":
        return None
    taken = _taken(action.text)
    if taken is None or moment.bank.get(ID) is None:
        return None
    files = _uncommitted(moment)
    if taken:
        files = {p: n for p, n in files.items() if any(_names(path, p) for path in taken)}
    if not files:
        return None
    lang = task_language(moment)
    some = list(files.items())[-MAX_FILES:]
    text = phrase(
        "lost_work",
        lang,
        files=", ".join(f"{file_name(path)} ({steps(n[-3:], lang)})" for path, n in some),
        command=quoted(action.text),
    )
    return Reminder(
        text, (ID,), reason=RULE.name, cause=f"lost:{max(n[-1] for n in files.values())}"
    )


def _uncommitted(moment: Moment) -> dict[str, list[int]]:
    edits: list[Facts] = []
    for facts in back(moment, len(moment.history.facts)):
        if facts.failed or facts.refused:
            continue
        if facts.kind == "edit":
            edits.append(facts)
        elif "git commit" in facts.normal and not _in_scratch(facts):
            break
    files: dict[str, list[int]] = {}
    for facts in reversed(edits):
        path = target(facts.normal)
        if path.startswith("/") or "/" in path or "." in path:
            files.setdefault(path, []).append(facts.number)
    return files


def _in_scratch(facts: Facts) -> bool:
    """Whether a commit was made in a repository beside the project, for a trial."""
    return facts.cwd.startswith("/tmp") or "git init" in facts.normal


def _taken(command: str) -> tuple[str, ...] | None:
    """The paths a line takes edits away from, () for all, None if it takes none away."""
    if re.search(r"\bgit stash (?:pop|apply)\b", command):
        return None
    for part in parse(command):
        words = part.words
        if len(words) < 2 or words[0] != "git":
            continue
        rest = [w for w in words[2:] if not w.startswith("-")]
        if words[1] == "stash" and (len(words) == 2 or words[2] in ("push", "save", "-u", "-a")):
            return tuple(rest[1:]) if words[2:3] == ("push",) else ()
        if words[1] == "reset" and "--hard" in words:
            return ()
        if words[1] == "checkout" and ("--" in words or "." in rest):
            return tuple(p for p in words[words.index("--") + 1 :]) if "--" in words else ()
        if words[1] == "restore" and "--staged" not in words:
            return () if "." in rest else tuple(rest)
    return None


def _names(path: str, edited: str) -> bool:
    return path in (".", "./") or edited == path or edited.endswith("/" + path.removeprefix("./"))


RULE = Rule("lost_work", look, keep)
