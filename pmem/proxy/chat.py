"""OpenAI's chat completions: `POST …/chat/completions`, as many services have them.

Words go into a user message of their own behind tool results, and at the end of the user's last
one; calls and their results keep their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmem.proxy.splice import Insertion, Place, behind, elements, last_in, longer, members
from pmem.proxy.sse import objects, whole
from pmem.proxy.wire import Called, Entry, Returned, Said, Words, arguments, texts


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
        """A text and a list of one text are the same; a cache mark is none of the content."""
        if not isinstance(item, Mapping):
            return item
        content = item.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if isinstance(content, list):
            content = [
                {k: v for k, v in part.items() if k != "cache_control"}
                if isinstance(part, Mapping)
                else part
                for part in content
            ]
        rest = {k: v for k, v in item.items() if k != "cache_control"}
        return {**rest, "content": content}

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
        calls: dict[Any, dict[str, str]] = {}
        for event in objects(data):
            for choice in event.get("choices") or ():
                if choice.get("index", 0) != 0:
                    continue
                delta = choice.get("delta") or {}
                words += delta.get("content") or ""
                for piece in delta.get("tool_calls") or ():
                    call = calls.setdefault(
                        piece.get("index", len(calls)), {"id": "", "name": "", "arguments": ""}
                    )
                    call["id"] = piece.get("id") or call["id"]
                    function = piece.get("function") or {}
                    for key in ("name", "arguments"):
                        call[key] += function.get(key) or ""
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
