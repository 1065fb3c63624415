"""Codex's rollout files: completed items where there are any, else calls and their outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pmem.agents.codex_rollout import _path, _seconds
from pmem.agents.transcripts.recorded import (
    Recorded,
    Talk,
    call_step,
    exit_code,
    seconds,
    unwrapped,
)
from pmem.core import json_text
from pmem.core.json_text import table
from pmem.core.step import Step

_EXITED = re.compile(r"(?:exited with code|\"exit_code\":)\s*(-?\d+)")
#: What stands as the user's words without the user having written it.
_NOT_TYPED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>")


def read(lines: Sequence[Mapping[str, Any]], recorded: Recorded) -> None:
    """Fill `recorded` from the lines of a rollout."""
    talk = Talk(recorded)
    items = any(_payload(line).get("type") == "item_completed" for line in lines)
    calls: dict[str, tuple[str, Any, str, float | None]] = {}
    for line in lines:
        payload, at = _payload(line), seconds(line.get("timestamp"))
        if line.get("type") == "session_meta":
            recorded.header["cwd"] = _path(payload.get("cwd"))
        elif line.get("type") == "compacted":
            recorded.add(Step(0, "compaction", "", str(payload.get("message") or ""), started=at))
        elif items and payload.get("type") == "item_completed":
            item(table(payload.get("item")), talk, recorded, at)
        elif not items and line.get("type") == "response_item":
            _response(payload, talk, recorded, calls, at)
    talk.ends()


def item(told: Mapping[str, Any], talk: Talk, recorded: Recorded, at: float | None) -> None:
    """Add a completed item's step to the run; `at` is when it was completed, in Unix seconds."""
    match told.get("type"):
        case "UserMessage":
            talk.ends()
            _user(_texts(told.get("content")), recorded, at)
        case "AgentMessage":
            talk.said(_texts(told.get("content")), at)
        case "CommandExecution":
            command = told.get("command")
            took = told.get("duration")
            spent = _seconds(took) if isinstance(took, dict) else None
            recorded.add(
                Step(
                    0,
                    "command",
                    unwrapped([str(w) for w in command])
                    if isinstance(command, list)
                    else str(command or ""),
                    str(told.get("aggregated_output") or ""),
                    exit_code=exit_code(told.get("exit_code")),
                    cwd=_path(told.get("cwd")),
                    started=at - (spent or 0.0) if at is not None else None,
                    seconds=spent,
                    thought=talk.thought(),
                    call_id=str(told.get("id") or "") or None,
                    refused=told.get("status") == "declined",
                )
            )
        case "FileChange":
            changes = told.get("changes") or {}
            text = (
                "apply_patch " + " ".join(changes) if isinstance(changes, dict) else "apply_patch"
            )
            failed = told.get("status") not in (None, "completed")
            recorded.add(
                Step(
                    *(0, "edit", text, str(told.get("stdout") or told.get("stderr") or "")),
                    started=at,
                    is_error=failed,
                    thought=talk.thought(),
                    call_id=str(told.get("id") or "") or None,
                )
            )
        case "McpToolCall":
            name = f"{told.get('server')}.{told.get('tool')}"
            output = json.dumps(told.get("result"), ensure_ascii=False)
            step = call_step(name, told.get("arguments"), output, started=at)
            recorded.add(step)


def _response(
    payload: Mapping[str, Any],
    talk: Talk,
    recorded: Recorded,
    calls: dict[str, tuple[str, Any, str, float | None]],
    at: float | None,
) -> None:
    match payload.get("type"):
        case "message" if payload.get("role") == "user":
            talk.ends()
            _user(_texts(payload.get("content")), recorded, at)
        case "message" if payload.get("role") == "assistant":
            talk.said(_texts(payload.get("content")), at)
        case "function_call" | "custom_tool_call" | "local_shell_call":
            given = payload.get("arguments") or payload.get("input") or payload.get("action")
            id = str(payload.get("call_id") or payload.get("id"))
            calls[id] = (str(payload.get("name") or "shell"), _parsed(given), talk.thought(), at)
        case "function_call_output" | "custom_tool_call_output":
            call = calls.pop(str(payload.get("call_id")), None)
            if call is not None:
                name, given, thought, began = call
                output, code = _output(payload.get("output"))
                recorded.add(
                    call_step(name, given, output, exit_code=code, started=began, thought=thought)
                )


def _output(told: Any) -> tuple[str, int | None]:
    """A call's output, and its exit code if the output tells it."""
    found = _parsed(told)
    if isinstance(found, Mapping):
        code = exit_code(table(found.get("metadata")).get("exit_code"))
        return str(found.get("output") or ""), code
    text = _texts(told) if isinstance(told, list) else str(told or "")
    exited = _EXITED.search(text[:400])
    head, mark, output = text.partition("Output:\n")
    return (output if mark and len(head) < 400 else text), int(exited[1]) if exited else None


def _user(text: str, recorded: Recorded, at: float | None) -> None:
    if text.strip() and not text.lstrip().startswith(_NOT_TYPED):
        recorded.add(Step(0, "user", "", text, started=at))


def _payload(line: Mapping[str, Any]) -> Mapping[str, Any]:
    return table(line.get("payload"))


def _parsed(told: Any) -> Any:
    if isinstance(told, str) and told.lstrip().startswith("{"):
        try:
            return json_text.loads(told)
        except ValueError:
            return told
    return told


def _texts(content: Any) -> str:
    parts = content if isinstance(content, list) else [content]
    return "\n".join(
        str(p.get("text") or "") if isinstance(p, Mapping) else str(p or "") for p in parts
    )
