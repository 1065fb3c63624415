"""Gemini CLI's chats: messages that are written again as they grow, the last one counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pmem.agents.results import gemini
from pmem.agents.transcripts.recorded import Recorded, Talk, call_step, seconds
from pmem.core.json_text import table, tables
from pmem.core.step import Step


def read(lines: Iterable[dict[str, Any]], recorded: Recorded) -> None:
    """Fill `recorded` from the lines of a chat."""
    messages: dict[str, dict[str, Any]] = {}
    for line in lines:
        told = table(line.get("$set")) or line
        for message in tables(told.get("messages")) or [line]:
            if message.get("id") and message.get("type"):
                messages[str(message["id"])] = message
    talk = Talk(recorded)
    for message in messages.values():
        at = seconds(message.get("timestamp"))
        if message["type"] == "user":
            text = text_of(message.get("content"))
            if text.strip() and not text.lstrip().startswith("<session_context>"):
                talk.ends()
                recorded.add(Step(0, "user", "", text, started=at))
            continue
        talk.said(text_of(message.get("content")), at)
        for call in tables(message.get("toolCalls")):
            recorded.add(_call(call, talk.thought()))
    talk.ends()


def _call(call: Mapping[str, Any], thought: str) -> Step:
    raw = "\n".join(responses(call.get("result")))
    name = str(call.get("name") or "")
    failed = call.get("status") not in (None, "success")
    ran = gemini(raw) if name == "run_shell_command" else None
    code = ran.exit_code if ran is not None else None
    return call_step(
        name,
        call.get("args"),
        ran.output if ran is not None else raw,
        exit_code=code or None if failed else code,
        is_error=True if failed else None,
        started=seconds(call.get("timestamp")),
        call_id=str(call.get("id") or "") or None,
        thought=thought,
    )


def responses(result: Any) -> Iterable[str]:
    """What the model was told of a call, part by part."""
    for part in tables(result):
        response = table(table(part.get("functionResponse")).get("response"))
        yield str(response.get("output") or response.get("error") or "")


def text_of(content: Any) -> str:
    """A message's words, without its other parts."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in tables(content))
