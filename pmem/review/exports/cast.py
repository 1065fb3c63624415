"""asciicast v2: the session as a terminal would have shown it, where none was recorded.

https://docs.asciinema.org/manual/asciicast/v2/
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pmem.core.decision import HEADER
from pmem.core.step import Step
from pmem.core.text import clean
from pmem.review.exports.run import Run
from pmem.terminal.cells import wrap

COLUMNS, ROWS = 100, 30
#: A pause is never longer, in seconds; what was printed is shown so far, in lines.
PAUSE, LINES = 2.0, 40


def lines(run: Run) -> Iterator[str]:
    """The lines of the cast: its header, then one event each."""
    began = next((s.started for s in run.steps if s.started is not None), None)
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": run.task[:80] or run.id}
    if began is not None:
        header["timestamp"] = int(began)
    yield json.dumps(header, ensure_ascii=False)
    at, last = 0.0, began
    for step, decisions in run.told():
        if step.started is not None and last is not None:
            at += min(max(step.started - last, 0.0), PAUSE)
            last = step.started
        else:
            at += 0.4
        for decision in decisions:
            if decision.get("decision") == "remind":
                at += 0.6
                yield _event(at, _painted(f"{HEADER} {decision.get('text', '')}", "33"))
        yield _event(at, _typed(step))
        if step.observation and step.kind not in ("user", "compaction"):
            at += min(step.seconds or 0.3, PAUSE)
            yield _event(at, _printed(step))


def _event(at: float, text: str) -> str:
    shown = text.replace("\n", "\r\n")
    return json.dumps([round(at, 3), "o", shown], ensure_ascii=False)


def _typed(step: Step) -> str:
    if step.kind == "user":
        return _painted(f"> {step.observation}", "36")
    if step.kind == "compaction":
        return _painted("(the context was compacted)", "2")
    if step.kind == "command":
        return _painted(f"$ {step.action}", "1")
    return _painted(f"{step.kind}: {step.action}", "2")


def _printed(step: Step) -> str:
    shown = clean(step.observation).rstrip("\n").split("\n")
    if len(shown) > LINES:
        left = len(shown) - LINES
        shown[LINES // 2 : -LINES // 2] = [f"… {left} lines …"]
    text = "\n".join(shown) + "\n"
    if step.exit_code:
        text += _painted(f"exit {step.exit_code}", "31")
    return text


def _painted(text: str, style: str) -> str:
    body = "\n".join(wrap(clean(text), COLUMNS - 2))
    return f"\x1b[{style}m{body}\x1b[0m\n"
