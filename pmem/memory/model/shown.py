"""What a model is shown of steps, rule files and the bank: quoted, cleaned, bounded.

Whatever was printed, written or said by others stands behind `|`, line by line, with everything
in it neutralised that could read as markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from pmem.core.bank import Entry
from pmem.core.moment import Given, Moment
from pmem.core.step import Step
from pmem.core.text import clean, neutralise, shorten
from pmem.core.trajectory import cut_middle
from pmem.memory.model.noise import quiet

#: Characters shown: of the task, of all rule files, of a message of the user.
MAX_TASK = 6000
MAX_RULES = 8000
MAX_MESSAGE = 1200
#: Of an observation, of the newest one, of an action, of a thought.
MAX_OBSERVATION = 1000
MAX_NEWEST = 2400
MAX_ACTION = 1200
MAX_THOUGHT = 500
#: Of an entry's content, and how many reminders and messages of the user are told again.
MAX_CONTENT = 500
MAX_GIVEN = 4
MAX_MESSAGES = 6


def quoted(text: str, limit: int) -> str:
    """A text as data: at most `limit` characters, each line behind `|`."""
    lines = cut_middle(neutralise(clean(text)).strip(), limit).split("\n")
    return "\n".join(f"| {line.rstrip()}" for line in lines)


def one_line(text: str, limit: int) -> str:
    """A text on one line, neutralised, at most `limit` characters."""
    flat = " ".join(neutralise(clean(text)).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def task(moment: Moment, limit: int = MAX_TASK) -> str:
    """What stays the same in a session: the task, `limit` characters of it, and the rule files."""
    parts = ["# Task", quoted(moment.task or "(the user has not said)", limit)]
    room = MAX_RULES
    for path, text in moment.rules_files:
        if room < 200:
            break
        parts += [f"## {one_line(path, 200)}", quoted(text, room)]
        room -= min(len(text), room)
    return "\n".join(parts)


def messages(moment: Moment) -> str:
    """What the user said since the task, the latest messages; "" if nothing."""
    later = [(n, text) for n, text in moment.user_messages if text != moment.task][-MAX_MESSAGES:]
    if not later:
        return ""
    parts = ["# The user said"]
    for number, text in later:
        parts += [f"at step {number}:", quoted(text, MAX_MESSAGE)]
    return "\n".join(parts)


def steps(window: Sequence[Step]) -> str:
    """The latest steps, oldest first."""
    if not window:
        return "# Steps\nnone yet"
    shown = [_step(step, newest=step is window[-1]) for step in window]
    return "\n".join(["# Steps", *shown])


def bank(shown: Sequence[Entry], others: Sequence[Entry], moment: Moment) -> str:
    """The status and the entries to look at; the others by their ids."""
    parts = ["# Bank", "## status", quoted(moment.bank.status or "(empty)", 2000)]
    for section in ("knowledge", "procedural"):
        entries = [e for e in shown if e.section == section]
        parts.append(f"## {section}")
        parts += [entry(e, moment.watches.get(e.id, "")) for e in entries] or ["(none)"]
    if others:
        ids = ", ".join(e.id for e in others[:40])
        more = f" and {len(others) - 40} more" if len(others) > 40 else ""
        parts.append(f"not shown: {ids}{more}")
    stale = [f"{e.id} ({e.stale})" for e in moment.bank.entries.values() if e.stale]
    if stale:
        parts.append(f"stale, cite none of them: {', '.join(stale[:20])}")
    return "\n".join(parts)


def entry(e: Entry, watch: str = "") -> str:
    """One entry on one line: id, what it is, content, and how its watch stands."""
    marks = [e.outcome] if e.outcome else []
    marks += [", ".join(e.tags)] if e.tags else []
    if e.source and e.source not in ("model",) and not e.source.startswith("step "):
        marks.append(f"from {e.source}")
    if e.when is not None:
        marks.append(f"watch {watch or 'armed'}: {one_line(str(dict(e.when)), 160)}")
    kind = f" ({'; '.join(one_line(m, 200) for m in marks)})" if marks else ""
    return f"- [{e.id}]{kind} | {one_line(e.content, MAX_CONTENT)}"


def given(reminders: Sequence[Given], window: Sequence[Step]) -> str:
    """The reminders so far, each with what the agent did next where that is in the window."""
    if not reminders:
        return ""
    parts = ["# Reminders so far"]
    for one in reminders[-MAX_GIVEN:]:
        late = f", {one.delivery}" if one.delivery else ""
        parts.append(f"after step {one.step}{late} | {one_line(one.text, 300)}")
        after = [s for s in window if s.number > one.step and s.kind not in ("user", "message")][:2]
        for step in after:
            parts.append(f"  then step {step.number} | {one_line(step.action, 160)}")
    return "\n".join(parts)


def whole_bank(moment: Moment) -> str:
    """All of knowledge and procedural as a note for the agent; never the status. "" if empty."""
    parts = []
    for name, entries in (
        ("knowledge", [e for e in moment.bank.knowledge if not e.stale]),
        ("procedural", [e for e in moment.bank.procedural if not e.stale]),
    ):
        if entries:
            parts.append(f"{name}:")
            parts += [f"- {one_line(e.content, MAX_CONTENT)}" for e in entries]
    return "\n".join(parts)


def _step(step: Step, *, newest: bool) -> str:
    if step.kind == "user":
        return (
            f"step {step.number}: the user\n{quoted(step.observation or step.action, MAX_MESSAGE)}"
        )
    marks = [step.kind]
    if step.exit_code is not None:
        marks.append(f"exit {step.exit_code}")
    elif step.is_error:
        marks.append("error")
    if step.refused:
        marks.append("refused by the user")
    if step.cwd:
        marks.append(f"in {one_line(step.cwd, 120)}")
    if step.seconds is not None and step.seconds >= 10:
        marks.append(f"{step.seconds:.0f} s")
    parts = [f"step {step.number}: {', '.join(marks)}"]
    if step.thought:
        parts += ["thought", quoted(shorten(step.thought, 90, MAX_THOUGHT), MAX_THOUGHT)]
    parts += ["action", quoted(step.action, MAX_ACTION)]
    if step.observation:
        limit = MAX_NEWEST if newest else MAX_OBSERVATION
        parts += ["output", quoted(quiet(step.observation), limit)]
    return "\n".join(parts)
