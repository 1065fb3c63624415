"""Copilot CLI's event files as events: of a conversation that began without pmem.

Found by running 1.0.102: a call stands there when it starts and when it is over. Its calls are
told to a fresh reader of hooks as the payloads that the hooks would have had.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmem.agents.copilot_hooks import CopilotHooks
from pmem.agents.json_object import object_in
from pmem.agents.past import Turn, read_turns
from pmem.agents.transcripts.recorded import seconds
from pmem.core.decision import HEADER
from pmem.core.event import Observed, UserMessage


def transcript(session: str, env: Mapping[str, str] | None = None) -> str:
    """Where a conversation's events lie, if it has any."""
    home = (os.environ if env is None else env).get("HOME") or "/"
    return str(Path(home) / ".copilot" / "session-state" / session / "events.jsonl")


def turns(path: str) -> Iterator[Turn]:
    """What stands in an event file, oldest first; nothing if it cannot be read."""
    return read_turns(path, Turns())


class Turns:
    """Reads an event file line by line, from wherever it begins."""

    def __init__(self) -> None:
        self._hooks = CopilotHooks(imports=False)
        self._said: dict[str, Any] = {}
        self._calls: dict[str, tuple[dict[str, Any], float | None]] = {}

    def read(self, text: str) -> Iterator[Turn]:
        """The events of one line, with their time in Unix seconds; none for what is no turn."""
        line = object_in(text)
        data = line.get("data")
        if not isinstance(data, dict):
            return
        if line.get("agentId") or data.get("agentId") or data.get("parentToolCallId"):
            return  # a subagent's
        at = seconds(line.get("timestamp"))
        match line.get("type"):
            case "session.start" | "session.resume":
                place = data.get("context")
                cwd = place.get("cwd") if isinstance(place, dict) else None
                self._said |= {"cwd": cwd or self._said.get("cwd")}
                self._said |= {"sessionId": data.get("sessionId") or self._said.get("sessionId")}
            case "user.message":
                if words := str(data.get("content") or "").strip():
                    yield UserMessage(words), at
            case "tool.execution_start":
                call = {"toolName": data.get("toolName"), "toolArgs": data.get("arguments")}
                self._calls[str(data.get("toolCallId"))] = call, at
            case "tool.execution_complete":
                for step in self._ended(data):
                    yield step, at

    def _ended(self, data: Mapping[str, Any]) -> Iterator[Observed]:
        """The step of a finished call, none for one that pmem itself put back."""
        call, began = self._calls.pop(str(data.get("toolCallId")), (None, None))
        if call is None:
            return
        result, error = data.get("result"), data.get("error")
        told: dict[str, Any]
        if data.get("success"):
            seen = str(result.get("content") or "") if isinstance(result, dict) else ""
            event, told = "postToolUse", {"toolResult": {"textResultForLlm": seen}}
        else:
            why = str(error.get("message") or "") if isinstance(error, dict) else str(error or "")
            if HEADER in why:
                return
            event, told = "postToolUseFailure", {"error": why}
        for name, more in (("preToolUse", {}), (event, told)):
            payload = {"event": name, "payload": {**self._said, **call, **more}}
            for found in self._hooks.events(json.dumps(payload).encode()):
                if isinstance(found, Observed):
                    yield Observed(replace(found.step, started=began))
