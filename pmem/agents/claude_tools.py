"""Claude Code's tools as actions and observations.

The words are those of the recorded trajectories: a command is its text, an edit is the tool,
the file and the change, a look-up is the tool with its arguments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pmem.agents.excerpt import TAIL, excerpt, file_tail
from pmem.core.excerpt import MARGIN, around_a_gap
from pmem.core.step import Action

COMMANDS = frozenset({"Bash", "PowerShell"})
EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
READS = frozenset(
    {
        *("Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch"),
        *("ListMcpResourcesTool", "ReadMcpResourceTool"),
    }
)
#: Characters kept of each side of a change and of a call's arguments.
MAX_CHANGE = 2000


def action(tool: str, given: Mapping[str, Any], cwd: str | None, call_id: str | None) -> Action:
    """A tool call as an action."""
    if tool in COMMANDS:
        return Action("command", str(given.get("command", "")), cwd, tool, call_id)
    if tool in EDITS:
        return Action("edit", _edit(tool, given), cwd, tool, call_id)
    kind = "read" if tool in READS else "tool"
    return Action(kind, _call(tool, given), cwd, tool, call_id)


def _edit(tool: str, given: Mapping[str, Any]) -> str:
    path = given.get("file_path") or given.get("notebook_path") or ""
    lines = [f"{tool} {path}"]
    if tool == "Write":
        lines.append(_cut(given.get("content")))
    elif tool == "NotebookEdit":
        lines.append(f"--- cell {given.get('cell_id', '')} {given.get('edit_mode', 'replace')}")
        lines.append(_cut(given.get("new_source")))
    else:
        changes = given.get("edits") if tool == "MultiEdit" else [given]
        for change in changes if isinstance(changes, list) else []:
            if isinstance(change, dict):
                lines += ["--- old", _cut(change.get("old_string"))]
                lines += ["--- new", _cut(change.get("new_string"))]
    return "\n".join(lines)


def _call(tool: str, given: Mapping[str, Any]) -> str:
    match tool:
        case "Read" | "NotebookRead":
            path = given.get("file_path") or given.get("notebook_path") or ""
            rest = " ".join(f"{k}={given[k]}" for k in ("offset", "limit", "pages") if k in given)
            return f"{tool} {path} {rest}".rstrip()
        case "Grep" | "Glob" | "LS":
            words = (f"{key}={_json(value)}" for key, value in given.items())
            return f"{tool} {' '.join(words)}"
        case "Agent" | "Task":
            kind, what = given.get("subagent_type", ""), given.get("description", "")
            return f"Task ({kind}): {what}\n{_cut(given.get('prompt'))}"
        case "TodoWrite":
            todos = given.get("todos")
            rows = [t for t in todos if isinstance(t, dict)] if isinstance(todos, list) else []
            return "\n".join([tool, *(f"[{t.get('status')}] {t.get('content')}" for t in rows)])
    return f"{tool} {excerpt(_json(given), MAX_CHANGE)}"


def observation(tool: str, given: Mapping[str, Any], response: Any) -> str:
    """What a call that succeeded brought back, as text, cut to head and tail."""
    if tool in COMMANDS and isinstance(response, dict):
        return _output(response)
    if tool in EDITS and isinstance(response, dict):
        path = response.get("filePath") or given.get("file_path") or given.get("notebook_path")
        done = "created" if response.get("type") == "create" else "updated"
        changed = " (the user changed it before accepting)" if response.get("userModified") else ""
        return f"{done} {path}{changed}"
    return excerpt(plain(response))


def _output(response: Mapping[str, Any]) -> str:
    stdout, stderr = str(response.get("stdout") or ""), str(response.get("stderr") or "")
    kept = response.get("persistedOutputPath")
    if isinstance(kept, str) and (tail := file_tail(kept, TAIL + MARGIN)):
        # The payload has only the head of a long output; errors stand at its end.
        head, tail = around_a_gap(stdout, tail, len(stdout) // 4, TAIL)
        size = response.get("persistedOutputSize")
        stdout = f"{head}\n[… the middle of {size} bytes left out …]\n{tail}"
    return excerpt("\n".join(part for part in (stdout, stderr) if part))


def plain(response: Any) -> str:
    """A tool's response as text, whatever its shape."""
    match response:
        case None:
            return ""
        case str():
            return response
        case list():
            return "\n".join(filter(None, map(plain, response)))
        case {"type": "text", "text": str(text)}:
            return text
        case {"file": {"content": str(content)}}:
            return content
        case {"filenames": [*names], **rest}:
            content = rest.get("content")
            return str(content) if content else "\n".join(map(str, names)) or "No files found"
        case {"content": content} if content:
            return plain(content)
        case {"result": str(result)}:
            return result
    return _json(response)


def _cut(text: Any) -> str:
    return excerpt(str(text or ""), MAX_CHANGE)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
