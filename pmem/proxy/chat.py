"""OpenAI's chat completions: `POST …/chat/completions`, as many services have them.

Words go into a user message of their own behind tool results, and at the end of the user's last
one; calls and their results keep their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmem.core.json_text import table, tables, text_of
from pmem.proxy.splice import Insertion, Place, behind, elements, last_in, longer, members
from pmem.proxy.sse import objects, whole
from pmem.proxy.wire import Called, Entry, Returned, Said, Words, arguments, same_message, texts


class Chat:
    """The format that most services share."""

    name = "chat"
    array = "messages"

    def serves(self, path: str) -> bool:
        """`…/chat/completions`."""
        return path.endswith("/chat/completions")

    def offers_tools(self, body: Mapping[str, Any], items: Sequence[Any]) -> bool:
        """Tools stand beside the messages; older programs call them functions."""
        return bool(body.get("tools") or body.get("functions"))

    def wants_data(self, body: Mapping[str, Any]) -> bool:
        """`response_format` asks for JSON."""
        form = body.get("response_format")
        return isinstance(form, Mapping) and form.get("type") in ("json_schema", "json_object")

    def before(self, body: Mapping[str, Any]) -> str:
        """Everything is sent each time."""
        return ""

    def same(self, item: Any) -> Any:
        """In whatever way its words are written."""
        return same_message(item)

    def entries(self, items: Sequence[Any]) -> list[list[Entry]]:
        """Messages."""
        return [_entries(item) if isinstance(item, Mapping) else [] for item in items]

    def placed(self, text: str, item: Place, words: str) -> list[Insertion]:
        """Behind a tool's result as a message, else at the end of the user's."""
        role = item.value.get("role") if isinstance(item.value, Mapping) else None
        if role in ("tool", "function"):
            return [behind(item, {"role": "user", "content": words})]
        if role != "user":
            return []
        content = members(text, item.start).get("content")
        if content is None:
            return []
        if isinstance(content.value, list):
            parts, end = elements(text, content.start)
            part = {"type": "text", "text": words}
            return [last_in(text, Place(parts, content.start, end), part)]
        if isinstance(content.value, str):
            return [longer(content, f"\n\n{words}")]
        return []

    def reply(self, data: bytes, streamed: bool) -> list[Entry] | None:
        """The first choice, or the pieces that make it."""
        if not streamed:
            choices = whole(data).get("choices")
            first = choices[0] if isinstance(choices, list) and choices else {}
            message = first.get("message") if isinstance(first, Mapping) else None
            return _of_agent(message) if isinstance(message, Mapping) else None
        words, ended = "", False
        calls: dict[str, dict[str, str]] = {}
        for event in objects(data):
            for choice in tables(event.get("choices")):
                if choice.get("index", 0) != 0:
                    continue
                delta = table(choice.get("delta"))
                words += text_of(delta.get("content"))
                for piece in tables(delta.get("tool_calls")):
                    call = calls.setdefault(
                        str(piece.get("index", len(calls))), {"id": "", "name": "", "arguments": ""}
                    )
                    call["id"] = text_of(piece.get("id")) or call["id"]
                    function = table(piece.get("function"))
                    for key in ("name", "arguments"):
                        call[key] += text_of(function.get(key))
                ended = ended or bool(choice.get("finish_reason"))
        if not ended:
            return None
        found: list[Entry] = [Words(words)] if words else []
        return found + [
            Called(c["id"], c["name"], arguments(c["arguments"])) for c in calls.values()
        ]


def _entries(item: Mapping[str, Any]) -> list[Entry]:
    match item.get("role"):
        case "user":
            content = item.get("content")
            parts = content if isinstance(content, list) else []
            said = [texts([part]) for part in parts] or [texts(content)]
            return [Said(text) for text in said if text]
        case "tool" | "function":
            return [Returned(str(item.get("tool_call_id") or ""), texts(item.get("content")))]
        case "assistant":
            return _of_agent(item)
    return []


def _of_agent(message: Mapping[str, Any]) -> list[Entry]:
    words = texts(message.get("content"))
    found: list[Entry] = [Words(words)] if words else []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            found.append(
                Called(
                    str(call.get("id") or ""),
                    str(function.get("name") or ""),
                    arguments(function.get("arguments")),
                )
            )
    return found


CHAT = Chat()
