"""aider's chat history, a Markdown file: the user's words, aider's own lines, the answers.

aider does not write a command's exit code there, and its output only as far as it was shown.
"""

from __future__ import annotations

import re
from datetime import datetime

from pmem.agents.transcripts.recorded import Recorded, Talk
from pmem.core.step import Step

STARTED = "# aider chat started at "
_RUNS = re.compile(r"> Running (?P<command>.+?)\s*$")
_APPLIED = re.compile(r"> Applied edit to (?P<file>.+?)\s*$")
#: Commands the user gives to aider that run something.
_RUN_WORDS = ("/run ", "/test ", "!")


def read(text: str, recorded: Recorded) -> None:
    """Fill `recorded` from a chat history."""
    talk = Talk(recorded)
    at: float | None = None
    command = ""
    printed: list[str] = []
    asked: list[str] = []

    def ran() -> None:
        nonlocal command
        if command:
            output = "\n".join(printed)
            recorded.add(Step(0, "command", command, output, started=at, thought=talk.thought()))
        command = ""
        printed.clear()

    def heard() -> None:
        if asked:
            words = "\n".join(asked)
            asked.clear()
            talk.ends()
            recorded.add(Step(0, "user", "", words, started=at))

    for line in text.split("\n"):
        if line.startswith("#### "):
            ran()
            words = line[5:].rstrip()
            if words.startswith(_RUN_WORDS):
                heard()
                command = next(words[len(w) :] for w in _RUN_WORDS if words.startswith(w)).strip()
            else:
                asked.append(words)
            continue
        heard()
        if line.startswith(STARTED):
            ran()
            talk.ends()
            at = _time(line[len(STARTED) :])
        elif found := _RUNS.match(line):
            ran()
            command = found["command"]
        elif found := _APPLIED.match(line):
            ran()
            recorded.add(
                Step(0, "edit", f"edit {found['file']}", line, started=at, thought=talk.thought())
            )
        elif line.startswith("> "):
            if command:
                printed.append(line[2:].rstrip())
        elif line.strip():
            ran()
            talk.said(line)
    heard()
    ran()
    talk.ends()


def _time(told: str) -> float | None:
    try:
        return datetime.fromisoformat(told.strip()).timestamp()
    except ValueError:
        return None
