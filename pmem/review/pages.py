"""Pages about what is no step: a conflict, a session, an entry."""

from __future__ import annotations

import time

from pmem.review import rows
from pmem.review.desk import Conflict
from pmem.review.lines import Line, counted, wrapped
from pmem.store.sessions import SessionInfo


def conflict(conflict: Conflict, room: int) -> list[Line]:
    """A field that two hands changed, in all its versions."""
    head = f"{conflict.id}: {conflict.field} was changed by somebody else meanwhile"
    theirs = "(the entry was deleted)" if conflict.theirs is None else conflict.theirs
    lines: list[Line] = [[("trouble", head)], []]
    for name, value, style in (
        ("it was", conflict.before, "dim"),
        ("theirs", theirs, "note"),
        ("yours", conflict.wanted, "ok"),
    ):
        body = wrapped(value, room, style, 11)
        body[0][0] = ("key", f"{name:11}")
        lines += [*body, []]
    return [*lines, *wrapped("m writes yours, t leaves theirs, Esc lets you write on.", room)]


def session(info: SessionInfo, spoke: tuple[int, int], room: int) -> list[Line]:
    """What a session's directory tells; `spoke` is how often memory did, and put actions back."""
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(info.started))
    facts = {
        "agent": info.agent,
        "state": "running" if info.live else f"ended {rows.ago(rows.now() - info.last)}",
        "began": began,
        "steps": info.steps,
        "it spoke": counted(spoke[0], "time")
        + (f", {spoke[1]} of them put an action back" if spoke[1] else ""),
        "on disk": f"{info.size / 1000:,.0f} kB",
        "directory": info.header.get("cwd", ""),
        "log": str(info.path),
    }
    lines: list[Line] = [[("head", info.id)], []]
    for name, value in facts.items():
        if value != "":
            body = wrapped(value, room, "", 11)
            body[0][0] = ("dim", f"{name:11}")
            lines += body
    if info.task:
        lines += [[], [("dim", "task")], *wrapped(info.task, room)]
    return lines
