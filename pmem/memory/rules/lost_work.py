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
    """Silent where the same line brings them back, and where files are named: that is meant."""
    action = moment.proposed
    if action is None or action.kind != "command":
        return None
    if not _takes_all(action.text) or moment.bank.get(ID) is None:
        return None
    files = _uncommitted(moment)
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


def _takes_all(command: str) -> bool:
    """Whether a line takes all edits out of the working tree, and does not bring them back."""
    if re.search(r"\bgit stash (?:pop|apply)\b", command):
        return False
    return any(_takes(part.words) for part in parse(command))


def _takes(words: tuple[str, ...]) -> bool:
    if len(words) < 2 or words[0] != "git":
        return False
    named = [w for w in words[2:] if not w.startswith("-")]
    match words[1]:
        case "stash":
            if len(words) == 2 or words[2] in ("-u", "-a", "save"):
                return True
            return words[2] == "push" and len(named) <= 1
        case "reset":
            return "--hard" in words
        case "checkout":
            return "." in named or (named == [] and "-f" in words)
        case "restore":
            return "." in named and "--staged" not in words
    return False


RULE = Rule("lost_work", look, keep)
