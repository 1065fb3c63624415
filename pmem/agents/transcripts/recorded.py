"""Recorded: a past run as neutral lines, and the little helpers its readers share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pmem.core import json_text
from pmem.core.step import Step

#: Arguments under which tools of any agent take a shell command.
COMMAND_KEYS = ("command", "cmd", "commands", "keystrokes", "script")
EDITS = re.compile(r"edit|write|patch|replace|create|insert|notebook|delete_file", re.IGNORECASE)
READS = re.compile(r"read|view|grep|glob|search|list|^ls$|fetch|find|open|cat", re.IGNORECASE)


@dataclass
class Recorded:
    """A past run: its header, its steps numbered from 1, and a remark for each broken line."""

    format: str
    header: dict[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, step: Step) -> None:
        """Append a step under the next number."""
        self.steps.append(replace(step, number=len(self.steps) + 1))
        if step.kind == "user" and not self.header.get("task"):
            self.header["task"] = step.observation

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The steps as neutral lines."""
        return [step.to_json() for step in self.steps]


class Talk:
    """The agent's words: a thought of the call they come before, else a message to the user."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._words: list[str] = []
        self._at: float | None = None

    def said(self, text: str, at: float | None = None) -> None:
        """The agent wrote something."""
        if text.strip():
            self._words.append(text.strip())
            self._at = at

    def thought(self) -> str:
        """The words since the last call, now that a call follows them."""
        words, self._words = "\n".join(self._words), []
        return words

    def ends(self) -> None:
        """The turn is over: what was said last was an answer to the user."""
        words = self.thought()
        if words:
            self._recorded.add(Step(0, "message", words, "", started=self._at))


def json_lines(text: str, remarks: list[str]) -> Iterator[dict[str, Any]]:
    """The objects of a JSONL text; a line that cannot be read is told by its number."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found = json_text.loads(line)
        except ValueError:
            remarks.append(f"line {number} is broken and was left out")
            continue
        if isinstance(found, dict):
            yield found
        else:
            remarks.append(f"line {number} is no object and was left out")


def call_step(name: str, arguments: Any, output: str, **more: Any) -> Step:
    """A tool call of any agent as a step, unnumbered; its kind by its arguments and its name."""
    given: Mapping[str, Any] = arguments if isinstance(arguments, Mapping) else {}
    for key in COMMAND_KEYS:
        command = given.get(key)
        if isinstance(command, list):
            command = unwrapped([str(word) for word in command])
        if isinstance(command, str) and command.strip() and not EDITS.search(name):
            return Step(0, "command", command.rstrip("\n"), output, tool=name, **more)
    text = (
        f"{name} {json.dumps(given, ensure_ascii=False)}" if given else f"{name} {arguments or ''}"
    )
    kind = "edit" if EDITS.search(name) else "read" if READS.search(name) else "tool"
    return Step(0, kind, text.strip(), output, tool=name, **more)


def unwrapped(words: list[str]) -> str:
    """A command line from a list of words, without the shell it was handed to."""
    import shlex

    if len(words) == 3 and words[1] in ("-c", "-lc") and words[0].rpartition("/")[2].endswith("sh"):
        return words[2]
    return shlex.join(words)


def seconds(told: Any) -> float | None:
    """Unix seconds of an ISO time or a number, None for anything else."""
    if isinstance(told, int | float) and not isinstance(told, bool):
        return float(told)
    try:
        return datetime.fromisoformat(str(told)).timestamp()
    except ValueError:
        return None


def exit_code(told: Any) -> int | None:
    """A whole number, None for anything else."""
    return told if isinstance(told, int) and not isinstance(told, bool) else None
