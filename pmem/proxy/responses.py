"""OpenAI's Responses: `POST …/responses`, Codex's code mode among them.

Words go into a developer message at the end of `input`. Calls, their outputs and reasoning items
are never touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmem.proxy.splice import Insertion, Place, behind
from pmem.proxy.sse import objects, whole
from pmem.proxy.wire import Called, Entry, Returned, Said, Words, arguments, texts

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "shell_call")
#: Items behind which the model speaks next; behind its own it would have to go on.
_ANSWERABLE = ("message", *(f"{kind}_output" for kind in _CALLS))


class Responses:
    """The format of Codex."""

    name = "responses"
    array = "input"

    def serves(self, path: str) -> bool:
        """`…/responses`; `…/responses/compact` and single ones are none of it."""
        return path.endswith("/responses")

    def offers_tools(self, body: Mapping[str, Any], items: Sequence[Any]) -> bool:
        """Tools stand beside the input, or travel in it as an item."""
        return bool(body.get("tools")) or any(
            isinstance(item, Mapping) and item.get("type") == "additional_tools" for item in items
        )

    def wants_data(self, body: Mapping[str, Any]) -> bool:
        """`text.format` asks for JSON."""
        text = body.get("text")
        form = text.get("format") if isinstance(text, Mapping) else None
        return isinstance(form, Mapping) and form.get("type") in ("json_schema", "json_object")

    def before(self, body: Mapping[str, Any]) -> str:
        """The response this one goes on from, or the conversation that the server keeps."""
        kept = body.get("conversation")
        if isinstance(kept, Mapping):
            kept = kept.get("id")
        return str(body.get("previous_response_id") or kept or "")

    def same(self, item: Any) -> Any:
        """An item is sent again as it was, but for an id that only some programs send."""
        if not isinstance(item, Mapping):
            return item
        kept = {k: v for k, v in item.items() if k not in ("id", "status")}
        if kept.get("type") == "message":  # the type may be left out
            del kept["type"]
        if isinstance(kept.get("content"), str):
            kept["content"] = [{"type": "input_text", "text": kept["content"]}]
        return kept

    def entries(self, items: Sequence[Any]) -> list[list[Entry]]:
        """Items."""
        return [_entries(item) if isinstance(item, Mapping) else [] for item in items]

    def placed(self, text: str, item: Place, words: str) -> list[Insertion]:
        """A developer message behind a message of the user's side or a call's output."""
        if not isinstance(item.value, Mapping) or item.value.get("role") == "assistant":
            return []
        if item.value.get("type", "message") not in _ANSWERABLE:
            return []
        part = {"type": "input_text", "text": words}
        return [behind(item, {"type": "message", "role": "developer", "content": [part]})]

    def reply(self, data: bytes, streamed: bool) -> list[Entry] | None:
        """The items of a response that is complete."""
        if not streamed:
            return _all(whole(data).get("output"))
        items: list[Any] = []
        for event in objects(data):
            match event.get("type"):
                case "response.output_item.done":
                    items.append(event.get("item"))
                case "response.completed":
                    response = event.get("response")
                    told = response.get("output") if isinstance(response, Mapping) else None
                    return _all(items or told)
        return None


def _all(items: Any) -> list[Entry]:
    found = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    return [entry for item in found for entry in _entries(item)]


def _entries(item: Mapping[str, Any]) -> list[Entry]:
    kind, role = item.get("type", "message"), item.get("role")
    id = str(item.get("call_id") or item.get("id") or "")
    if kind == "message" and role == "user":
        content = item.get("content")
        parts = content if isinstance(content, list) else []
        said = [texts([part]) for part in parts] or [texts(content)]
        return [Said(text) for text in said if text]
    if kind == "message" and role == "assistant":
        words = texts(item.get("content"))
        return [Words(words)] if words else []
    if kind in _CALLS:
        given = item.get("arguments") or item.get("input") or item.get("action")
        return [Called(id, str(item.get("name") or "shell"), arguments(given))]
    if isinstance(kind, str) and kind.removesuffix("_output") in _CALLS:
        output = item.get("output")
        return [Returned(id, output if isinstance(output, str) else texts(output))]
    return []


RESPONSES = Responses()
