"""The one protocol of the wire formats: what a request tells, and where words may be put in.

Adding a format is adding a file and a line in `formats.py`. A format is pure: JSON in, what it
tells out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pmem.core import json_text
from pmem.proxy.splice import Insertion, Place


@dataclass(frozen=True, slots=True)
class Said:
    """The user's side speaks, in words."""

    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """The agent speaks."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """The agent calls a tool. `given` are its arguments: an object, or one text."""

    id: str
    tool: str
    given: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call brought back; `failed` is None where the wire does not tell."""

    id: str
    output: str
    failed: bool | None = None


Entry = Said | Words | Called | Returned


class Wire(Protocol):
    """One format.

    `name` is a word for the log, `array` the member of a body that holds the conversation.
    """

    name: str
    array: str

    def serves(self, path: str) -> bool:
        """Whether a request to this path (without its query) asks a model in this format."""
        ...

    def offers_tools(self, body: Mapping[str, Any], items: Sequence[Any]) -> bool:
        """Whether the model may act: a title, a router or a count offers it no tools."""
        ...

    def wants_data(self, body: Mapping[str, Any]) -> bool:
        """Whether the reply is to be JSON by a schema: the question of a program, not of a turn."""
        ...

    def before(self, body: Mapping[str, Any]) -> str:
        """The name of an earlier conversation, kept by the server, that this one goes on with."""
        ...

    def same(self, item: Any) -> Any:
        """The item without what may differ when it is sent again: marks of the cache, its shape."""
        ...

    def entries(self, items: Sequence[Any]) -> list[list[Entry]]:
        """What each item tells, in its order."""
        ...

    def placed(self, text: str, item: Place, words: str) -> list[Insertion]:
        """How words are put where the model reads them right behind an item, [] if nowhere.

        `text` is the whole body. Nothing that stands before is touched.
        """
        ...

    def reply(self, data: bytes, streamed: bool) -> list[Entry] | None:
        """What the model answered, None if the answer is not whole. Raises ValueError."""
        ...


def texts(content: Any, kinds: tuple[str, ...] = ("text", "input_text", "output_text")) -> str:
    """The words of a content that is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    found = (
        part.get("text")
        for part in parts
        if isinstance(part, Mapping) and part.get("type") in kinds and part.get("text")
    )
    return "\n".join(str(text) for text in found)


def same_message(item: Any) -> Any:
    """A message as it counts: a text and a list of one text are the same, and a cache mark is none
    of the content."""
    if not isinstance(item, Mapping):
        return item
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if isinstance(content, list):
        content = [_unmarked(part) for part in content]
    return {**_unmarked(item), "content": content}


def _unmarked(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return {key: value for key, value in part.items() if key != "cache_control"}


def arguments(told: Any) -> Mapping[str, Any] | str:
    """A call's arguments, which some formats send as JSON in a text."""

    if isinstance(told, Mapping):
        return told
    text = str(told or "")
    if text.lstrip().startswith("{"):
        try:
            found = json_text.loads(text)
        except ValueError:
            return text
        if isinstance(found, dict):
            return found
    return text
