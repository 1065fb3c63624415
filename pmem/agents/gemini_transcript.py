"""Gemini CLI's chats as events: of a conversation that began without pmem.

Found by running 0.61.0: a message is written again as its calls end, and all of them once more
when the conversation is resumed; each is told once. Its calls are told to a fresh reader of hooks
as the payloads that the hooks would have had.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmem.agents import hook_json
from pmem.agents.gemini_hooks import CONTEXT, GeminiHooks
from pmem.agents.json_object import object_in
from pmem.agents.past import Turn, read_turns
from pmem.agents.transcripts.gemini import responses, text_of
from pmem.agents.transcripts.recorded import seconds
from pmem.core.decision import HEADER
from pmem.core.event import Observed, UserMessage

#: What stands in the user's place without the user having written it.
NOT_TYPED = ("<session_context>",)


def turns(path: str) -> Iterator[Turn]:
    """What stands in a chat, oldest first; nothing if it cannot be read."""
    try:
        root = (Path(path).parent.parent / ".project_root").read_text("utf-8").strip()
    except (OSError, ValueError):
        root = ""
    return read_turns(path, Turns(root))


class Turns:
    """Reads a chat line by line; `cwd` is the directory it was begun in, which it does not tell."""

    def __init__(self, cwd: str = "") -> None:
        self._hooks = GeminiHooks(imports=False)
        self._said: dict[str, Any] = {"cwd": cwd or None}
        self._told: set[str] = set()

    def read(self, text: str) -> Iterator[Turn]:
        """The events of one line, with their time in Unix seconds; none for what is no turn."""
        line = object_in(text)
        change = line.get("$set")
        told = change if isinstance(change, dict) else line
        if told.get("sessionId"):
            self._said["session_id"] = told["sessionId"]
        messages = told.get("messages")
        for message in messages if isinstance(messages, list) else [told]:
            if isinstance(message, dict) and message.get("id"):
                yield from self._message(message)

    def _message(self, message: Mapping[str, Any]) -> Iterator[Turn]:
        if message.get("type") == "user":
            words = CONTEXT.sub("", text_of(message.get("content"))).strip()
            new = self._new(message["id"])
            if new and words and not words.startswith(NOT_TYPED):
                yield UserMessage(words), seconds(message.get("timestamp"))
            return
        calls = message.get("toolCalls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict) and call.get("result") and self._new(call.get("id")):
                yield from self._call(call)

    def _new(self, id: Any) -> bool:
        new = str(id) not in self._told
        self._told.add(str(id))
        return new

    def _call(self, call: Mapping[str, Any]) -> Iterator[Turn]:
        """The step of a finished call, none for one that pmem itself put back."""
        seen = "\n".join(responses(call.get("result")))
        failed = call.get("status") not in (None, "success")
        if failed and HEADER in seen:
            return
        response = {"llmContent": seen, **({"error": seen or "failed"} if failed else {})}
        told = {"tool_name": call.get("name"), "tool_input": call.get("args")}
        more = {"hook_event_name": "AfterTool", "tool_response": response}
        at = seconds(call.get("timestamp"))
        for event in self._hooks.events(json.dumps({**self._said, **told, **more}).encode()):
            if isinstance(event, Observed):
                refused = call.get("status") == "cancelled"
                seen_as = hook_json.TURNED_DOWN if refused else event.step.observation
                step = replace(event.step, started=at, refused=refused, observation=seen_as)
                yield Observed(step), at
