"""At the finish: what was left open. A stash not popped, a worktree, a server in the background."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pmem.core.bank import BankOp, Delete, SaveKnowledge
from pmem.core.decision import Reminder, Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment
from pmem.core.signature import Command, parse
from pmem.memory.rules.phrases import phrase, quoted, steps, task_language
from pmem.memory.rules.rule import Rule

#: The entry that lists them.
ID = "open-ends"
#: What was touched in the newest steps is still in use.
IN_USE = 10
_OPENS_OR_CLOSES = re.compile(r"git (?:stash|worktree)|(?<!&)&(?!&|\d)|kill|fuser")
_RUNS_ON = re.compile(
    r"\b(?:background|servers?|serv(?:e|ing|ice|ices)|daemon|port \d|start|launch|keep running)\b"
    r"|백그라운드|서버|서비스|띄워|バックグラウンド|サーバ|サービス|起動|后台|服务|启动",
    re.I,
)
_ENDS_JOBS = frozenset({"kill", "pkill", "killall", "fuser"})


@dataclass(frozen=True, slots=True)
class Open:
    """Something left open: what, the command that did it, its step, and a word that names it."""

    what: str
    command: str
    step: int
    name: str


def keep(moment: Moment) -> Sequence[BankOp]:
    """The open ends as one entry, while there are any."""
    left = _open(moment)
    old = moment.bank.get(ID)
    if not left:
        return [Delete(ID)] if old is not None else []
    content = "Left open: " + "; ".join(f"{quoted(o.command)} (step {o.step})" for o in left) + "."
    if old is not None and old.content == content:
        return ()
    return [SaveKnowledge(ID, content, ("state",), f"step {left[-1].step} of {moment.session}")]


def look(moment: Moment) -> Reminder | None:
    """Only what no step has touched lately."""
    if moment.trigger is not Trigger.FINISH or moment.bank.get(ID) is None:
        return None
    now = moment.last_step.number if moment.last_step is not None else 0
    lately = [f.normal for f in moment.history.facts if f.number > now - IN_USE]
    wanted = _wanted(moment)
    left = [
        o
        for o in _open(moment)
        if o.step <= now - IN_USE and not any(o.name and o.name in text for text in lately)
        if not (o.what == "job" and wanted)
    ]
    if not left:
        return None
    lang = task_language(moment)
    told = ", ".join(f"{quoted(o.command)} ({steps([o.step], lang)})" for o in left[-3:])
    text = phrase(f"open_{left[-1].what}", lang, left=told)
    return Reminder(text, (ID,), reason=RULE.name, cause=f"open:{left[-1].what}:{left[-1].step}")


def _wanted(moment: Moment) -> bool:
    """Whether the user speaks of something that is to run on."""
    texts = (moment.task, *(text for _, text in moment.user_messages))
    return any(_RUNS_ON.search(text) for text in texts)


def _open(moment: Moment) -> list[Open]:
    left: list[Open] = []
    for facts in moment.history.facts:
        if facts.kind != "command" or facts.failed or facts.refused:
            continue
        if not _OPENS_OR_CLOSES.search(facts.normal):
            continue
        for part in parse(facts.normal):
            _take(part, facts, left)
    return left


def _take(part: Command, facts: Facts, left: list[Open]) -> None:
    words = part.words
    if words[:2] == ("git", "stash"):
        if len(words) == 2 or words[2] in ("push", "save", "-u", "-a"):
            left.append(Open("stash", part.text, facts.number, "git stash"))
        elif words[2] in ("pop", "drop", "clear", "apply"):
            _close("stash", left)
    elif words[:3] == ("git", "worktree", "add"):
        left.append(Open("worktree", part.text, facts.number, words[-1].rsplit("/", 1)[-1]))
    elif words[:3] in (("git", "worktree", "remove"), ("git", "worktree", "prune")):
        _close("worktree", left)
    elif part.text.endswith(" &") and words and words[0] not in ("sleep", "wait"):
        left.append(Open("job", part.text, facts.number, words[0].rsplit("/", 1)[-1]))
    elif words and words[0] in _ENDS_JOBS:
        left[:] = [o for o in left if o.what != "job"]


def _close(what: str, left: list[Open]) -> None:
    for n in range(len(left) - 1, -1, -1):
        if left[n].what == what:
            del left[n]
            return


RULE = Rule("open_ends", look, keep, agents_only=True)
