"""Anthropic Messages: `POST …/v1/messages`.

Words go behind every tool result of the last message, and behind the last cache mark, so that
the prefix which is cached stays as it is. `system`, `tools`, earlier messages and thinking are
never touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmem.core.json_text import table
from pmem.proxy.splice import Insertion, Place, elements, last_in, members
from pmem.proxy.sse import objects, whole
from pmem.proxy.wire import Called, Entry, Returned, Said, Words, arguments, same_message, texts


class Anthropic:
    """The format of Claude."""

    name = "anthropic"
    array = "messages"

    def serves(self, path: str) -> bool:
        """`…/messages`; `…/count_tokens` and batches are none of it."""
        return path.endswith("/messages")

    def offers_tools(self, body: Mapping[str, Any], items: Sequence[Any]) -> bool:
        """Tools stand beside the messages."""
        return bool(body.get("tools"))

    def wants_data(self, body: Mapping[str, Any]) -> bool:
        """A schema stands in `output_config`, earlier in `output_format`."""
        config = body.get("output_config")
        return bool(body.get("output_format")) or (
            isinstance(config, Mapping) and bool(config.get("format"))
        )

    def before(self, body: Mapping[str, Any]) -> str:
        """Everything is sent each time."""
        return ""

    def same(self, item: Any) -> Any:
        """In whatever way its words are written."""
        return same_message(item)

    def entries(self, items: Sequence[Any]) -> list[list[Entry]]:
        """Messages and their blocks."""
        return [list(_entries(item)) if isinstance(item, Mapping) else [] for item in items]

    def placed(self, text: str, item: Place, words: str) -> list[Insertion]:
        """One more text block at the end of a message that is not the model's own."""
        if not isinstance(item.value, Mapping) or item.value.get("role") not in ("user", "system"):
            return []
        content = members(text, item.start).get("content")
        block = {"type": "text", "text": words}
        if content is None:
            return []
        if isinstance(content.value, list):
            parts, end = elements(text, content.start)
            return [last_in(text, Place(parts, content.start, end), block)]
        if isinstance(content.value, str) and content.value:
            opened, closed = last_in(text, Place([1], 0, 1), block)[1], "]"
            return [
                (content.start, '[{"type": "text", "text": '),
                (content.end, "}" + opened + closed),
            ]
        return []

    def reply(self, data: bytes, streamed: bool) -> list[Entry] | None:
        """A message, or the events that make one."""
        if not streamed:
            return _blocks(whole(data).get("content"))
        blocks: dict[str, dict[str, Any]] = {}
        ended = False
        for event in objects(data):
            match event.get("type"):
                case "content_block_start":
                    blocks[str(event.get("index"))] = dict(table(event.get("content_block")))
                case "content_block_delta":
                    block = blocks.setdefault(str(event.get("index")), {})
                    delta = table(event.get("delta"))
                    for key in ("text", "partial_json"):
                        if isinstance(delta.get(key), str):
                            block[key] = str(block.get(key) or "") + delta[key]
                case "message_stop":
                    ended = True
        return _blocks(list(blocks.values())) if ended else None


def _entries(item: Mapping[str, Any]) -> list[Entry]:
    content = item.get("content")
    if item.get("role") == "assistant":
        return _blocks([{"type": "text", "text": content}] if isinstance(content, str) else content)
    if item.get("role") != "user":
        return []
    if isinstance(content, str):
        return [Said(content)]
    found: list[Entry] = []
    for block in content if isinstance(content, list) else []:
        match block:
            case {"type": "tool_result", "tool_use_id": str(id)}:
                failed = block.get("is_error")
                found.append(
                    Returned(
                        id,
                        texts(block.get("content")),
                        failed if isinstance(failed, bool) else None,
                    )
                )
            case {"type": "text", "text": str(text)}:
                found.append(Said(text))
    return found


def _blocks(content: Any) -> list[Entry]:
    found: list[Entry] = []
    for block in content if isinstance(content, list) else []:
        match block:
            case {"type": "text", "text": str(text)} if text:
                found.append(Words(text))
            case {"type": "tool_use", "id": str(id), "name": str(name)}:
                given = block.get("partial_json") or block.get("input") or {}
                found.append(Called(id, name, arguments(given)))
    return found


ANTHROPIC = Anthropic()
