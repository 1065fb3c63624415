"""The card of an export: what is in it, where it came from, what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WIDTH = 40
_HEAD = """\
---
configs:
- config_name: default
  data_files:
  - split: train
    path: train.jsonl
  - split: validation
    path: validation.jsonl
---
# Decisions of a memory agent

Written by `pmem train export`. One row is one memory step, both phases in one conversation:
`messages` (system, user, assistant with tool calls, tool, user, assistant) and `tools`, in the form
of chat completions; the arguments of a call are a string of JSON. A row ends in a reminder
(`<context_for_action>`), in a watch (the same with `when`), or in silence (`<no_intervention/>`).
"""
_BELONGS = """\
## Whose it is

The rows quote the work they were recorded in: tasks, commands, output, source code, and the memory
agent's private status. Secrets that pmem knows how to see were taken out, when they were recorded
and again here; what only a person can see is still there. Read it before it goes anywhere, and give
it no licence that those works do not have.
"""


def card(told: Mapping[str, Any], *, sessions: int, everything: bool) -> str:
    """The card as Markdown, from what `Exported.to_json` tells."""
    kinds = told["kinds"]
    replays = told["sources"] - sessions
    filter_ = (
        "None: every answer that can be read (`--all`)."
        if everything
        else "Of a session: reminders that were delivered and followed and that nobody called\n"
        "noise, and silences after which no earlier failure came back within five acts. Of a\n"
        "replay: what agrees with the labels of its run."
    )
    parts = [
        _HEAD,
        f"| | |\n|---|---|\n| rows | {told['rows']} |\n| train | {told['train']} |\n"
        f"| validation | {told['validation']}, by task |\n| tasks | {told['tasks']} |\n"
        f"| reminders | {kinds.get('reminder', 0)} |\n| watches | {kinds.get('watch', 0)} |\n"
        f"| silences | {kinds.get('silence', 0)} |\n"
        f"| sources | {sessions} sessions, {replays} replays |\n",
        f"## Filter\n\n{filter_}\n",
        "## Left out\n\n" + (_rows(told["left_out"], "memory steps") or "Nothing.\n"),
        "## Tokens a row\n\nEstimated, four bytes a token, without the tools.\n\n```text\n"
        + bars(told["tokens"])
        + "```\n",
        _BELONGS,
    ]
    return "\n".join(parts)


def bars(counts: Mapping[str, int]) -> str:
    """A histogram in lines of text."""
    most = max(counts.values(), default=0)
    return "".join(
        f"{name:>8} {count:6}  {'█' * max(round(_WIDTH * count / most), count > 0)}\n"
        for name, count in counts.items()
    )


def _rows(counts: Mapping[str, int], what: str) -> str:
    if not counts:
        return ""
    lines = "".join(f"| {why} | {count} |\n" for why, count in counts.items())
    return f"| why | {what} |\n|---|---|\n{lines}"
