"""Why: a step as it was, and what memory decided there, with all that led to it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pmem.core.bank import Entry
from pmem.core.step import ACTING_KINDS
from pmem.review.after import LOOKED_AT, after, failed
from pmem.review.lines import Line, flat, plain, wrapped
from pmem.review.recorded import Mark, Recorded, mark_of

#: How a trigger is told.
TRIGGERS = {
    "first_step": "the first step of the session",
    "interval": "the interval: it looks every few steps",
    "failure": "the step before failed",
    "repeat": "the same command had run before",
    "user_message": "the user said something",
    "compaction": "the agent's context was compacted",
    "finish": "the agent ended its turn",
    "proposed": "the agent was about to do this",
}
DELIVERIES = {
    "before": "before the next action",
    "with_result": "with the result of the action it concerns",
    "late": "after the action, at the end of the turn",
    "none": "to nobody; it was only logged",
}
HEADS = {
    Mark.HELD: ("held", "■ HELD the action back"),
    Mark.SPOKE: ("spoke", "● SPOKE"),
    Mark.HELD_BACK: ("back", "○ CHOSE SILENCE over something it could have said"),
    Mark.SILENT: ("dim", "· was silent"),
}
#: Lines of an output that are shown at most, half from each end.
MAX_OUTPUT = 2000
#: And of what a cited entry has become.
MAX_NOW = 3


def page(
    recorded: Recorded,
    number: int,
    bank: Mapping[str, Entry] | None,
    room: int,
    *,
    prompts: bool = False,
) -> list[Line]:
    """The whole page of one step, in lines of at most `room` cells.

    What memory decided stands before the command and its output; `prompts` adds, at the end, what
    a model was sent and answered. `bank` is None if nobody can tell what it holds.
    """
    lines: list[Line] = []
    decisions = sorted(recorded.decided(number), key=mark_of, reverse=True)
    for decision in decisions:
        lines += [*decided(recorded, decision, number, bank, room), []]
    lines += done(recorded.step(number), number, room)
    for decision in decisions if prompts else ():
        lines += prompt(recorded, decision, room)
    return lines


def done(step: Mapping[str, Any] | None, number: int, room: int) -> list[Line]:
    """What was done at a step, and what came of it."""
    if step is None:
        return [[("bad", f"Step {number} cannot be read: its line in the log is torn.")]]
    head: Line = [("title", f"Step {number}"), ("dim", f"  {step['kind']}")]
    if step.get("tool"):
        head.append(("dim", f"  {step['tool']}"))
    if step.get("agent_id"):
        head.append(("note", f"  subagent {step['agent_id']}"))
    code = step.get("exit_code")
    if failed(step):
        head.append(("bad", f"  ✗ exit {code}" if code else "  ✗ failed"))
    elif code == 0:
        head.append(("ok", "  ✓ exit 0"))
    if step.get("refused"):
        head.append(("note", "  turned down by the user"))
    facts = [clock(step.get("started")), _took(step.get("seconds")), step.get("cwd") or ""]
    lines = [head, [("dim", "  ".join(plain(f) for f in facts if f))]]
    if step.get("thought"):
        lines += [[], *wrapped(step["thought"], room, "dim")]
    if step["action"]:
        sign = "$ " if step["kind"] == "command" else ""
        lines += [[], *wrapped(f"{sign}{step['action']}", room, "word")]
    lines.append([])
    observed = [
        line
        for text in plain(step["observation"]).rstrip("\n").split("\n")
        for line in wrapped(text, room)
    ]
    if len(observed) > MAX_OUTPUT:
        left = len(observed) - MAX_OUTPUT
        half = MAX_OUTPUT // 2
        observed[half:-half] = [[("dim", f"… {left} lines are left out here: pmem log --json …")]]
    return lines + (observed if step["observation"] else [[("dim", "(no output)")]])


def decided(
    recorded: Recorded,
    decision: Mapping[str, Any],
    number: int,
    bank: Mapping[str, Entry] | None,
    room: int,
) -> list[Line]:
    """One decision: what was said or not, why now, by whom, what became of it, what it cites."""
    mark = mark_of(decision)
    style, title = HEADS[mark]
    head: Line = [(style, title)]
    head.append(("dim", f"  {_where(decision, recorded)}  {clock(decision.get('time'))}"))
    lines = [head]
    if mark >= Mark.SPOKE:
        lines += wrapped(decision.get("text", ""), room, style, 2)
    wide = 11
    rows: list[tuple[str, str, str]] = []
    trigger = str(decision.get("trigger", ""))
    rows.append(("why now", f"{trigger}: {TRIGGERS.get(trigger, 'unknown')}", ""))
    if decision.get("proposed"):
        rows.append(("about", flat(decision["proposed"]), "word"))
    if decision.get("reason"):
        rows.append(("by", _by(decision), ""))
    candidate = str(decision.get("candidate") or "")
    if candidate:
        same = candidate == decision.get("text")
        rows.append(
            ("candidate", "as it was said" if same else candidate, "dim" if same else "note")
        )
    if mark >= Mark.SPOKE:
        held = "; the action was put back, once" if decision.get("hold") else ""
        rows.append(("verdict", f"the guard let it pass{held}", "ok"))
        rows.append(("delivery", _delivery(decision), ""))
        rows.append(("afterwards", _afterwards(recorded, decision, number), "note"))
    else:
        rows.append(("verdict", str(decision.get("verdict") or "nothing to say"), "note"))
    rows.append(("cost", cost(decision), "dim"))
    for name, value, style in rows:
        body = wrapped(value, room - 2, style, wide)
        body[0][0] = ("dim", f"{name:{wide}}")
        lines += [[("", "  "), *line] for line in body]
    cites = decision.get("cited") or ()
    for entry in cites:
        lines += _cited(entry, bank, room)
    if mark >= Mark.SPOKE and not cites:
        lines.append([("", "  "), ("dim", "cites      nothing that was recorded")])
    return lines


def _by(decision: Mapping[str, Any]) -> str:
    reason = str(decision["reason"])
    model = decision.get("model")
    if isinstance(model, Mapping):
        calls = ", ".join(str(n) for n in model.get("calls") or ())
        return f"the model {model.get('name', '')}, call {calls or '-'} (its prompt: Enter, or p)"
    if reason.startswith("watch:"):
        return f"the watch of {reason.removeprefix('watch:')}; no model was asked"
    return f"the rule {reason}; no model was asked, so there is no prompt"


def _delivery(decision: Mapping[str, Any]) -> str:
    how = str(decision.get("delivery", ""))
    parts = [f"{how}: {DELIVERIES.get(how, 'unknown')}"]
    if decision.get("channel"):
        parts.append(f"by {decision['channel']}")
    if decision.get("audience"):
        parts.append(f"for the {decision['audience']} only")
    return ", ".join(parts)


def _afterwards(recorded: Recorded, decision: Mapping[str, Any], number: int) -> str:
    start = int(decision.get("before_step", number))
    found = [s for _, s in recorded.page(start, start + LOOKED_AT + 4) if s is not None]
    came = after(decision, [s for s in found if s.get("kind") in ACTING_KINDS])
    return f"{came.words} ({came.verdict}; a guess)"


def _where(decision: Mapping[str, Any], recorded: Recorded) -> str:
    before = int(decision.get("before_step", 0))
    if before > recorded.last:
        return f"after step {recorded.last}"
    return f"before step {before}"


def cost(decision: Mapping[str, Any]) -> str:
    """What a decision took: time, and a model's tokens and money."""
    model = decision.get("model")
    if not isinstance(model, Mapping):
        return f"{float(decision.get('ms') or 0):.1f} ms, no tokens, no money"
    tokens = sum(int(model.get(k) or 0) for k in ("input", "output", "cache_read", "cache_write"))
    seconds = float(model.get("ms") or 0) / 1000
    return f"{seconds:.1f} s, {tokens:,} tokens, ${float(model.get('money') or 0):.4f}"


def _cited(snapshot: Mapping[str, Any], bank: Mapping[str, Entry] | None, room: int) -> list[Line]:
    """A cited entry as it was then, and what became of it."""
    id = str(snapshot.get("id", ""))
    lines: list[Line] = [[("", "  "), ("dim", "cites      "), ("head", id), *_facts(snapshot)]]
    lines += [
        [("", "  "), *line] for line in wrapped(snapshot.get("content", ""), room - 2, "", 11)
    ]
    now = bank.get(id) if bank is not None else None
    if bank is None:
        said, style = "what became of it is not known: the bank cannot be read", "stale"
    elif now is None:
        said, style = "since then it was deleted", "stale"
    elif now.stale:
        said, style = f"stale now: {now.stale}; it is cited no more", "stale"
    elif now.content != snapshot.get("content"):
        said, style = f"now: {flat(now.content)}", "note"
    else:
        said, style = "as it is now", "dim"
    body = wrapped(said, room - 2, style, 11)
    if len(body) > MAX_NOW:
        body[MAX_NOW:] = [[("", " " * 11), ("dim", "… (B shows it whole)")]]
    return lines + [[("", "  "), *line] for line in body]


def _facts(snapshot: Mapping[str, Any]) -> Line:
    outcome = snapshot.get("outcome")
    style = {"failed": "bad", "succeeded": "ok"}.get(str(outcome), "dim")
    found: Line = [(style, f"  {outcome}")] if outcome else []
    found.append(("dim", "  as it was then"))
    if snapshot.get("source"):
        found.append(("dim", f", from {plain(snapshot['source'])}"))
    return found


def prompt(recorded: Recorded, decision: Mapping[str, Any], room: int) -> list[Line]:
    """What a model was sent, and what it answered, as it is kept."""
    model = decision.get("model")
    calls: Sequence[Any] = model.get("calls") or () if isinstance(model, Mapping) else ()
    lines: list[Line] = []
    for number in calls:
        record = recorded.call(int(number))
        lines += [[], [("head", f"CALL {number}"), ("dim", f"  {(record or {}).get('model', '')}")]]
        if record is None:
            lines.append([("dim", "it is not kept any more")])
            continue
        parts = [("system", record.get("system", ""))]
        parts += [(m.get("role", ""), m.get("text", "")) for m in record.get("messages", ())]
        parts += [("call", f"{name} {given}") for name, given in record.get("calls", ())]
        parts.append(("answer", record.get("answer", record.get("error", ""))))
        for who, text in parts:
            lines.append([("key", f"  {who}")])
            lines += wrapped(text, room, "", 4)
    return lines


def clock(unix: Any) -> str:
    """The local time of day, "" if it is not known."""
    if not isinstance(unix, int | float):
        return ""
    return time.strftime("%H:%M:%S", time.localtime(unix))


def _took(seconds: Any) -> str:
    if not isinstance(seconds, int | float):
        return ""
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
