"""Tool calls as actions, for agents whose tools differ from Claude Code's in little but names.

The words are those of the recorded trajectories: a command is its text, an edit is the tool,
the file and the change, a look-up is the tool with its arguments.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from pmem.agents.excerpt import excerpt
from pmem.core.step import Action

#: Characters kept of each side of a change and of a call's arguments.
MAX_CHANGE = 2000

_PATH = ("file_path", "filePath", "path", "notebook_path", "filename")
_OLD = ("old_string", "oldString", "oldText", "old_str")
_NEW = ("new_string", "newString", "newText", "new_str", "new_source")
_CONTENT = ("content", "file_text", "patchText", "input", "patch")


@dataclass(frozen=True, slots=True)
class Tools:
    """Which of an agent's tools run commands, change files, or only look.

    `directory` is the argument of a command's tool that names where it runs.
    """

    commands: Container[str]
    edits: Container[str]
    reads: Container[str]
    directory: str = ""

    def action(
        self, tool: str, given: Mapping[str, Any], cwd: str | None, call_id: str | None
    ) -> Action:
        """A tool call as an action."""
        if tool in self.commands:
            place = given.get(self.directory)
            if isinstance(place, str) and place and isinstance(cwd, str):
                cwd = os.path.normpath(os.path.join(cwd, place))  # noqa: PTH118 (none is meant)
            return Action("command", str(given.get("command") or ""), cwd, tool, call_id)
        if tool in self.edits:
            return Action("edit", edit(tool, given), cwd, tool, call_id)
        kind = "read" if tool in self.reads else "tool"
        return Action(kind, call(tool, given), cwd, tool, call_id)


def edit(tool: str, given: Mapping[str, Any]) -> str:
    """A change: the tool and the file, then what is written, or the old and the new text."""
    lines = [f"{tool} {_first(given, _PATH)}".rstrip()]
    changes = given.get("edits")
    for change in changes if isinstance(changes, list) else [given]:
        if not isinstance(change, dict):
            continue
        if old := _first(change, _OLD):
            lines += ["--- old", excerpt(old, MAX_CHANGE)]
        if new := _first(change, _NEW):
            lines += ["--- new", excerpt(new, MAX_CHANGE)]
    if content := _first(given, _CONTENT):
        lines.append(excerpt(content, MAX_CHANGE))
    return "\n".join(lines)


def call(tool: str, given: Mapping[str, Any]) -> str:
    """Any other call: the tool and its arguments, a lone path as it is."""
    if len(given) == 1 and (path := _first(given, _PATH)):
        return f"{tool} {path}"
    return f"{tool} {excerpt(json.dumps(given, ensure_ascii=False, default=str), MAX_CHANGE)}"


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((str(given[name]) for name in names if given.get(name)), "")
