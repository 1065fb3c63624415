"""Claude Code's project files, by the reader that also catches up with a resumed conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.agents.claude_transcript import turns
from pmem.agents.past import before
from pmem.agents.transcripts.recorded import Recorded, seconds
from pmem.core.json_text import table, tables
from pmem.core.step import Step


def read(path: Path, lines: Sequence[Mapping[str, Any]], recorded: Recorded) -> None:
    """Fill `recorded` from a project file; `lines` are its objects."""
    places = (line.get("cwd") for line in lines)
    recorded.header["cwd"] = next((one for one in places if one and isinstance(one, str)), None)
    steps = [(step.started or 0.0, step) for step in before(turns(str(path)))]
    for at, text in _answers(lines):
        place = next((n for n, (began, _) in enumerate(steps) if began > at), len(steps))
        steps.insert(place, (at, Step(0, "message", text, "", started=at)))
    for _, step in steps:
        recorded.add(step)


def _answers(lines: Sequence[Mapping[str, Any]]) -> list[tuple[float, str]]:
    """The agent's words that no call follows: what it told the user at the end of a turn."""
    answers = []
    words: list[str] = []
    at = 0.0
    for line in lines:
        if line.get("type") not in ("user", "assistant") or line.get("isSidechain"):
            continue
        blocks = tables(table(line.get("message")).get("content"))
        kinds = [block.get("type") for block in blocks]
        if line["type"] == "assistant":
            if "tool_use" in kinds:
                words.clear()
            texts = [
                str(block.get("text") or "") for block in blocks if block.get("type") == "text"
            ]
            if any(texts):
                words += texts
                at = seconds(line.get("timestamp")) or at
        elif "tool_result" not in kinds and words:
            answers.append((at, "\n".join(words)))
            words.clear()
    if words:
        answers.append((at, "\n".join(words)))
    return answers
