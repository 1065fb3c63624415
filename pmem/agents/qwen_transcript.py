"""Qwen Code's chats as events: of a conversation that began without pmem, or is followed.

Found by running 0.24.4: each turn is one line, a call's result has its status beside it. Its calls
are told to a fresh reader of hooks as the payloads that the hooks would have had.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmem.agents import hook_json
from pmem.agents.json_object import object_in
from pmem.agents.past import Turn, newest, read_turns
from pmem.agents.qwen_hooks import QwenHooks
from pmem.agents.transcripts.recorded import seconds
from pmem.core.decision import HEADER
from pmem.core.event import Observed, UserMessage


def turns(path: str) -> Iterator[Turn]:
    """What stands in a chat, oldest first; nothing if it cannot be read."""
    return read_turns(path, Turns())


def find_transcript(cwd: str, env: Mapping[str, str]) -> Path | None:
    """The chat in this directory that was written last, None if there is none."""
    name = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    return newest(Path(env.get("HOME", "/")) / ".qwen" / "projects" / name / "chats")


class Turns:
    """Reads a chat line by line, from wherever it begins."""

    def __init__(self) -> None:
        self._hooks = QwenHooks(imports=False)
        self._calls: dict[str, dict[str, Any]] = {}

    def read(self, text: str) -> Iterator[Turn]:
        """The events of one line, with their time in Unix seconds; none for what is no turn."""
        line = object_in(text)
        if line.get("isSidechain"):
            return
        at = seconds(line.get("timestamp"))
        if line.get("subtype") == "chat_compression":
            yield Observed(replace(hook_json.compaction("", None), started=at)), at
            return
        match line.get("type"):
            case "user" if line.get("provenance") in (None, "real_user"):
                words = "\n".join(str(p.get("text") or "") for p in _parts(line)).strip()
                if words:
                    yield UserMessage(words), at
            case "assistant":
                for part in _parts(line):
                    self._proposed(part.get("functionCall"), line, at)
            case "tool_result":
                for event in self._ended(line):
                    yield event, at

    def _proposed(self, call: Any, line: Mapping[str, Any], at: float | None) -> None:
        if isinstance(call, dict):
            told = {"tool_name": call.get("name"), "tool_input": call.get("args")}
            ids = {"tool_use_id": call.get("id"), "cwd": line.get("cwd"), "at": at}
            self._calls[str(call.get("id"))] = {**told, **ids}

    def _ended(self, line: Mapping[str, Any]) -> Iterator[Observed]:
        """The step of a finished call, none for one that pmem itself put back."""
        result = line.get("toolCallResult")
        result = result if isinstance(result, dict) else {}
        told = self._calls.pop(str(result.get("callId")), None)
        if told is None:
            return
        began = told.pop("at")
        seen = "\n".join(_response(part) for part in _parts(line))
        failed = result.get("status") != "success"
        if failed and HEADER in seen:
            return
        if failed:
            told |= {"hook_event_name": "PostToolUseFailure", "error": seen}
        else:
            told |= {"hook_event_name": "PostToolUse", "tool_response": {"llmContent": seen}}
        for event in self._hooks.events(json.dumps(told).encode()):
            if isinstance(event, Observed):
                refused = result.get("status") == "cancelled"
                yield Observed(replace(event.step, started=began, refused=refused))


def _parts(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _response(part: Mapping[str, Any]) -> str:
    answer = part.get("functionResponse")
    response = answer.get("response") if isinstance(answer, dict) else None
    if not isinstance(response, dict):
        return ""
    return str(response.get("output") or response.get("error") or "")
