"""Rows: what the lists of review show, one line each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pmem.core.bank import Entry
from pmem.core.when import parse_watch
from pmem.review.after import failed
from pmem.review.desk import PINNED
from pmem.review.lines import Line, counted, fitted, flat, wrapped
from pmem.review.recorded import Mark
from pmem.store.sessions import SessionInfo

MARKS = {
    Mark.HELD: ("held", "■"),
    Mark.SPOKE: ("spoke", "●"),
    Mark.HELD_BACK: ("back", "○"),
    Mark.SILENT: ("dim", "·"),
    Mark.NOTHING: ("", " "),
}
OUTCOMES = {"failed": ("bad", "✗"), "succeeded": ("ok", "✓"), "diagnosis": ("note", "•")}
WATCHES = {
    "armed": ("watch", "◉"),
    "spent": ("dim", "◌"),
    "stale": ("stale", "✖"),
    "broken": ("bad-strong", "!"),
    "": ("", " "),
}


def step_row(
    number: int, step: Mapping[str, Any] | None, mark: Mark, digits: int, room: int
) -> Line:
    """`41 ✗ 1    0.3s ● npm test`"""
    line: Line = [("dim", f"{number:>{digits}} ")]
    if step is None:
        return fitted([*line, ("bad", "? this step cannot be read")], room)
    code = step.get("exit_code")
    if failed(step):
        line.append(("bad-strong", f"✗ {code if code else '':<3}"))
    elif code == 0:
        line.append(("ok", "✓    "))
    else:
        line.append(("dim", "·    "))
    line.append(("dim", f"{took(step.get('seconds')):>5} "))
    line.append(MARKS[mark])
    line.append(("", " "))
    kind = step["kind"]
    if kind != "command":
        line.append(("note", f"{kind} "))
    line.append(("word" if mark >= Mark.SPOKE else "", flat(step["action"] or step["observation"])))
    return fitted(line, room)


def session_row(info: SessionInfo, now: float, room: int) -> Line:
    """`● claude   3 min ago   41  fix the tests`"""
    line: Line = [("ok", "● ") if info.live else ("", "  ")]
    line.append(("word" if info.live else "", f"{info.agent[:10]:10} "))
    line.append(("dim", f"{'running' if info.live else ago(now - info.last):>9} "))
    line.append(("", f"{info.steps:>6} "))
    line.append(("dim", flat(info.task) or info.id))
    return fitted(line, room)


def bank_row(entry: Entry, watch: str, room: int) -> Line:
    """`✗ ◉ npm-test   npm test in api/: failed at steps 9, 12 …`"""
    style, sign = OUTCOMES.get(entry.outcome, ("note", "◆"))
    if entry.section == "procedural" and not entry.outcome:
        sign = "•"
    line: Line = [(style, f"{sign} "), WATCHES[watch]]
    line.append(("spoke", "★ ") if PINNED in entry.tags else ("", "  "))
    wide = min(max(room // 4, 14), 30)
    line += fitted([("stale" if entry.stale else "head", entry.id)], wide)
    line.append(("", " "))
    if entry.stale:
        line.append(("stale", "stale "))
    line.append(("dim" if entry.stale else "", flat(entry.content) or flat(entry.command)))
    return fitted(line, room)


def entry_page(entry: Entry, watch: str, told: int, room: int) -> list[Line]:
    """All of one entry."""
    kind = entry.section + (f", {entry.outcome}" if entry.outcome else "")
    head: Line = [("head", entry.id), ("dim", f"  {kind}")]
    if PINNED in entry.tags:
        head.append(("spoke", "  ★ pinned"))
    lines: list[Line] = [head, []]
    if entry.stale:
        lines += wrapped(f"✖ STALE: {entry.stale}.", room, "stale")
        lines += wrapped(
            "It is cited in no reminder. d forgets it, r relies on it again, e mends it.",
            room,
            "dim",
        )
        lines.append([])
    lines += [*wrapped(entry.content or "(no words of its own)", room), []]
    facts = {
        "command": entry.command,
        "directory": entry.cwd,
        "attempts": entry.attempts or "",
        "exit code": "" if entry.exit_code is None else entry.exit_code,
        "failure": entry.failure,
        "failed at": ", ".join(map(str, entry.failed_steps)),
        "passed at": ", ".join(map(str, entry.passed_steps)),
        "session": entry.session,
        "source": entry.source,
        "tags": ", ".join(entry.tags),
        "watch": watch_words(entry.when) if entry.when else "",
        "stands": _stands(watch, told),
        "cites": ", ".join(entry.files),
        "note": entry.note,
        **entry.extra,
    }
    for name, value in facts.items():
        if value != "":
            body = wrapped(value, room, "", 11)
            body[0][0] = ("dim", f"{name:11}")
            lines += body
    if entry.output:
        lines.append([])
        for text in entry.output.rstrip().splitlines():
            lines += [[("dim", "│ "), *line] for line in wrapped(text, room - 2, "dim")]
    return lines


def watch_words(when: Mapping[str, Any]) -> str:
    """A watch on one line."""
    said = []
    for key, value in when.items():
        words = " | ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        said.append(key if value is True else f"{key} {words}")
    return " · ".join(said)


def _stands(watch: str, told: int) -> str:
    if not watch:
        return ""
    times = f", told {counted(told, 'time')} in this session" if told else ""
    return {
        "armed": f"◉ armed: it fires when this happens{times}",
        "spent": f"◌ spent{times}",
        "stale": "✖ past: it fires no more in this session",
        "broken": "! it cannot be read; pmem bank check says why",
    }[watch] + "."


def told_watches(spoken: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """How often the watch of each entry was told in a session."""
    found: Counter[str] = Counter()
    for decision in spoken:
        if str(decision.get("reason", "")).startswith("watch:"):
            found.update(decision.get("entries") or ())
    return found


def watch_state(entry: Entry, told: int, last_step: int) -> str:
    """How the watch of an entry stands at the end of a session: armed, spent, stale or broken."""
    if entry.when is None:
        return ""
    try:
        watch = parse_watch(entry.when)
    except ValueError:
        return "broken"
    if told >= watch.times:
        return "spent"
    if entry.stale or (watch.until_step is not None and last_step >= watch.until_step):
        return "stale"
    return "armed"


def holding(entries: Iterable[Entry], text: str) -> list[Entry]:
    """The entries that hold every word of a text, in whatever part of them; `stale` is a word."""
    words = text.casefold().split()
    return [entry for entry in entries if all(word in _all_of(entry) for word in words)]


def _all_of(entry: Entry) -> str:
    parts: Sequence[str] = (
        entry.id, entry.content, entry.command, entry.cwd, entry.note, entry.source, entry.failure,
        entry.outcome, *entry.tags, f"stale {entry.stale}" if entry.stale else "",
        watch_words(entry.when) if entry.when else "",
    )  # fmt: skip
    return "\n".join(parts).casefold()


def took(seconds: Any) -> str:
    """A duration in five cells."""
    if not isinstance(seconds, int | float):
        return ""
    if seconds < 100:
        return f"{seconds:.1f}s"
    return f"{seconds / 60:.0f}m" if seconds < 6000 else f"{seconds / 3600:.0f}h"


def ago(seconds: float) -> str:
    """An age in one unit."""
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{max(int(seconds), 0) // unit} {name} ago"
    return f"{int(seconds) // 86400} d ago"


def now() -> float:
    """Unix seconds."""
    return time.time()
