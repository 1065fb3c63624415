"""Markdown: a session to be read, or to be pasted into an issue."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from pmem.core.step import Step
from pmem.core.text import clean
from pmem.review.exports.run import Run

#: Lines of an output that are shown, half from each end.
LINES = 30


def text(run: Run) -> str:
    """The session as one Markdown text."""
    return "\n".join(_parts(run)).rstrip("\n") + "\n"


def _parts(run: Run) -> Iterator[str]:
    yield f"# {run.agent}: {run.id}\n"
    began = next((s.started for s in run.steps if s.started is not None), None)
    if began is not None:
        yield f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(began))}, {len(run.steps)} steps\n"
    if run.task:
        yield _quoted(run.task)
    for step, decisions in run.told():
        for decision in decisions:
            if decision.get("decision") == "remind":
                yield _reminder(decision)
        yield _step(step)


def _reminder(decision: Mapping[str, Any]) -> str:
    held = ", and put the action back" if decision.get("hold") else ""
    cited = ", ".join(f"`{id}`" for id in decision.get("entries") or ())
    why = f"{decision.get('reason', '')}; {decision.get('delivery', '')}{held}"
    return (
        f"> **Memory:** {_line(decision.get('text', ''))}\n>\n> {why}; cites {cited or 'nothing'}\n"
    )


def _step(step: Step) -> str:
    if step.kind == "user":
        return f"## Step {step.number}: the user\n\n{_quoted(step.observation)}"
    if step.kind == "compaction":
        return f"## Step {step.number}: the context was compacted\n"
    ended = "" if step.exit_code is None else f", exit {step.exit_code}"
    head = f"## Step {step.number}: {step.kind}{ended}\n"
    said = f"{_quoted(step.thought)}\n" if step.thought else ""
    if step.kind == "message":
        return f"{head}\n{_quoted(step.action or step.observation)}"
    language = "sh" if step.kind == "command" else ""
    return f"{head}\n{said}{_fenced(step.action, language)}\n{_fenced(step.observation)}"


def _quoted(words: str) -> str:
    return "".join(f"> {line}\n" for line in clean(words).strip().splitlines())


def _fenced(words: str, language: str = "") -> str:
    shown = clean(words).rstrip("\n")
    if not shown:
        return ""
    lines = shown.split("\n")
    if len(lines) > LINES:
        lines[LINES // 2 : -LINES // 2] = [f"… {len(lines) - LINES} lines …"]
    shown = "\n".join(lines)
    longest = max((len(run) for run in re.findall(r"`{3,}", shown)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}\n"


def _line(words: object) -> str:
    return " ".join(clean(str(words)).split())
