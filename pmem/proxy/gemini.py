"""Gemini: `POST …/models/NAME:generateContent`, `:streamGenerateContent`.

Words go into a user content of their own behind function responses, and into one more part of
the user's last content. Calls, responses, their order and thought signatures are never touched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pmem.core import json_text
from pmem.core.json_text import table, tables
from pmem.proxy.splice import Insertion, Place, behind, elements, last_in, members
from pmem.proxy.sse import objects
from pmem.proxy.wire import Called, Entry, Returned, Said, Words

_METHODS = (":generateContent", ":streamGenerateContent")
#: Begins an id that is made up here, where a call has none of its own.
MADE_UP = "~"


class Gemini:
    """The format of Gemini."""

    name = "gemini"
    array = "contents"

    def serves(self, path: str) -> bool:
        """The two methods that generate; counting tokens and embedding are none of it."""
        return path.endswith(_METHODS)

    def offers_tools(self, body: Mapping[str, Any], items: Sequence[Any]) -> bool:
        """Function declarations stand in `tools`."""
        tools = body.get("tools")
        return isinstance(tools, list) and any(
            isinstance(tool, Mapping)
            and (tool.get("functionDeclarations") or tool.get("function_declarations"))
            for tool in tools
        )

    def wants_data(self, body: Mapping[str, Any]) -> bool:
        """`responseMimeType` asks for JSON."""
        config = body.get("generationConfig")
        return isinstance(config, Mapping) and "json" in str(config.get("responseMimeType") or "")

    def before(self, body: Mapping[str, Any]) -> str:
        """A cached content may stand before what is sent."""
        return str(body.get("cachedContent") or "")

    def same(self, item: Any) -> Any:
        """A content is sent again as it was."""
        return item

    def entries(self, items: Sequence[Any]) -> list[list[Entry]]:
        """Contents; a call without an id is named by its place among its like."""
        ids = _Ids()
        return [_entries(item, ids) if isinstance(item, Mapping) else [] for item in items]

    def placed(self, text: str, item: Place, words: str) -> list[Insertion]:
        """Behind function responses as a content, else as a part of the user's."""
        if not isinstance(item.value, Mapping) or item.value.get("role", "user") == "model":
            return []
        parts = item.value.get("parts")
        if not isinstance(parts, list) or not parts:
            return []
        if any(isinstance(part, Mapping) and _response(part) for part in parts):
            return [behind(item, {"role": "user", "parts": [{"text": words}]})]
        place = members(text, item.start)["parts"]
        inside, end = elements(text, place.start)
        return [last_in(text, Place(inside, place.start, end), {"text": words})]

    def reply(self, data: bytes, streamed: bool) -> list[Entry] | None:
        """The first candidate; without SSE a stream is an array of pieces."""
        pieces = list(objects(data)) if streamed else json_text.loads(data)
        parts: list[Any] = []
        ended = False
        for piece in tables(pieces if isinstance(pieces, list) else [pieces]):
            for candidate in tables(piece.get("candidates"))[:1]:
                parts += tables(table(candidate.get("content")).get("parts"))
                ended = ended or bool(candidate.get("finishReason"))
        return _entries({"role": "model", "parts": parts}, _Ids()) if ended else None


class _Ids:
    """Names for calls that have none: the same for a call and for its response."""

    def __init__(self) -> None:
        self._calls: dict[str, list[str]] = {}
        self._count = 0

    def call(self, part: Mapping[str, Any]) -> str:
        """The id of a call."""
        if part.get("id"):
            return str(part["id"])
        self._count += 1
        text = json.dumps([self._count, part.get("name"), part.get("args")], sort_keys=True)
        id = MADE_UP + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        self._calls.setdefault(str(part.get("name")), []).append(id)
        return id

    def response(self, part: Mapping[str, Any]) -> str:
        """The id of the first call of that name that has no response yet."""
        if part.get("id"):
            return str(part["id"])
        waiting = self._calls.get(str(part.get("name")))
        return waiting.pop(0) if waiting else ""


def _entries(item: Mapping[str, Any], ids: _Ids) -> list[Entry]:
    found: list[Entry] = []
    by_model = item.get("role", "user") == "model"
    parts = item.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if not isinstance(part, Mapping):
            continue
        call = part.get("functionCall") or part.get("function_call")
        response = _response(part)
        if isinstance(call, Mapping):
            given = call.get("args")
            name = str(call.get("name") or "")
            found.append(Called(ids.call(call), name, given if isinstance(given, Mapping) else {}))
        elif response:
            output, failed = _told(response.get("response"))
            found.append(Returned(ids.response(response), output, failed))
        elif part.get("text") and not part.get("thought"):
            text = str(part["text"])
            found.append(Words(text) if by_model else Said(text))
    return found


def _response(part: Mapping[str, Any]) -> Mapping[str, Any]:
    found = part.get("functionResponse") or part.get("function_response")
    return found if isinstance(found, Mapping) else {}


def _told(response: Any) -> tuple[str, bool | None]:
    if not isinstance(response, Mapping):
        return str(response or ""), None
    if response.get("error"):
        return str(response["error"]), True
    for key in ("output", "content", "result"):
        if isinstance(response.get(key), str):
            return str(response[key]), None
    return json.dumps(response, ensure_ascii=False), None


GEMINI = Gemini()
