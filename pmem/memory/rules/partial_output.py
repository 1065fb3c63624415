"""A file that a command was still writing when it was stopped is about to be used as if whole."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pmem.core.bank import BankOp, Delete, SaveKnowledge
from pmem.core.decision import Reminder
from pmem.core.effect import Effect
from pmem.core.moment import Moment
from pmem.core.sight import sight
from pmem.core.step import Step
from pmem.memory.rules.causes import STOPPED
from pmem.memory.rules.ids import entry_id
from pmem.memory.rules.phrases import file_name, named, phrase, quoted, steps, task_language
from pmem.memory.rules.recent import back
from pmem.memory.rules.rule import Rule

_TAG = "partial"
_STEP = re.compile(r"step (\d+) of (.*)")
_CUT_OFF = re.compile(
    r"(?:timed out|Killed|Terminated|Command aborted|terminated by signal"
    r"|시간 초과|タイムアウト|超时)\W*$",
    re.I,
)


def keep(moment: Moment) -> Sequence[BankOp]:
    """What a stopped command had written; gone once it is written anew."""
    step = moment.last_step
    if step is None or step.kind != "command":
        return ()
    written = sight(step.proposed, moment.project).written
    if not _stopped(step):
        return [Delete(_id(path)) for path in written if moment.bank.get(_id(path)) is not None]
    source = f"step {step.number} of {moment.session}"
    return [
        SaveKnowledge(
            _id(path),
            f"{named(path)} is partial: {quoted(step.action)} was stopped while writing it (step"
            f" {step.number}).",
            (_TAG,),
            source,
        )
        for path in written
    ]


def look(moment: Moment) -> Reminder | None:
    """Silent for whoever only looks into it."""
    action = moment.proposed
    if action is None or action.kind != "command":
        return None
    seen = sight(action, moment.project)
    for path in seen.named:
        entry = moment.bank.get(_id(path))
        at = _STEP.fullmatch(entry.source) if entry is not None else None
        if entry is None or at is None or at[2] != moment.session or path in seen.written:
            continue
        if all(part.reads for part in seen.parts) or _written_since(path, int(at[1]), moment):
            continue
        lang = task_language(moment)
        text = phrase("partial_output", lang, file=file_name(path), at=steps([int(at[1])], lang))
        return Reminder(text, (entry.id,), reason=RULE.name, cause=f"partial:{path}:{at[1]}")
    return None


def _stopped(step: Step) -> bool:
    return step.exit_code in STOPPED or bool(_CUT_OFF.search(step.observation[-300:].strip()))


def _written_since(path: str, since: int, moment: Moment) -> bool:
    name = path.rsplit("/", 1)[-1]
    return any(
        f.number > since and not f.failed and f.effect is not Effect.READS and name in f.normal
        for f in back(moment, 200)
    )


def _id(path: str) -> str:
    return entry_id("partial", path)


RULE = Rule("partial_output", look, keep, agents_only=True)
