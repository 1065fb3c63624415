"""Gemini CLI's chats: messages that are written again as they grow, the last one counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pmem.agents.transcripts.recorded import Recorded, Talk, call_step, seconds
from pmem.core.step import Step

_EXIT_CODE = re.compile(r"^Exit Code: (\d+)$", re.MULTILINE)
_OUTPUT = re.compile(r"^Output: ", re.MULTILINE)
_AFTER = re.compile(
    r"\n(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): .*", re.DOTALL
)


def read(lines: Iterable[Mapping[str, Any]], recorded: Recorded) -> None:
    """Fill `recorded` from the lines of a chat."""
    messages: dict[str, Mapping[str, Any]] = {}
    for line in lines:
        change = line.get("$set")
        more = (change if isinstance(change, Mapping) else line).get("messages") or [line]
        for message in more:
            if isinstance(message, Mapping) and message.get("id") and message.get("type"):
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
        for call in message.get("toolCalls") or ():
            recorded.add(_call(call, talk.thought()))
    talk.ends()


def _call(call: Mapping[str, Any], thought: str) -> Step:
    raw = "\n".join(responses(call.get("result")))
    name = str(call.get("name") or "")
    failed = call.get("status") not in (None, "success")
    is_shell = name == "run_shell_command"
    code = _EXIT_CODE.search(raw) if is_shell else None
    known = int(code[1]) if code else 0 if is_shell and not failed else None
    return call_step(
        name,
        call.get("args"),
        _printed(raw) if is_shell else raw,
        exit_code=known,
        is_error=True if failed else None,
        started=seconds(call.get("timestamp")),
        call_id=str(call.get("id") or "") or None,
        thought=thought,
    )


def responses(result: Any) -> Iterable[str]:
    """What the model was told of a call, part by part."""
    for part in result if isinstance(result, list) else ():
        response = (part.get("functionResponse") or {}).get("response") or {}
        yield str(response.get("output") or response.get("error") or "")


def _printed(raw: str) -> str:
    """What the command printed, out of what the model was told of it."""
    text = raw.replace("<untrusted_context>\n", "").replace("\n</untrusted_context>", "")
    found = _OUTPUT.search(text)
    return _AFTER.sub("", text[found.end() :]) if found else text


def text_of(content: Any) -> str:
    """A message's words, without its other parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(p.get("text") or "") for p in parts if isinstance(p, Mapping))
