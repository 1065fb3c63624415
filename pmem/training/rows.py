"""Rows: memory steps as SFT data, `messages` and `tools` in the form of chat completions.

The turns are those that `pmem.models.openai` sends, so a model trained on them meets the same
conversation when it serves; arguments of calls are one line of JSON, as on that wire.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pmem.memory.model.parse import find_intervention, says_nothing
from pmem.memory.model.tools import as_text, tools
from pmem.memory.prompts import load_prompts
from pmem.training.calls import Talk, Turn

Kind = Literal["reminder", "watch", "silence"]

#: The task of a conversation, each line behind `|`.
_TASK = re.compile(r"# Task\n((?:\|[^\n]*\n?)*)")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `task` is a key equal for all rows of one task, `print` one for equal rows."""

    messages: Sequence[Mapping[str, Any]]
    kind: Kind
    task: str
    print: str

    @property
    def tokens(self) -> int:
        """How many tokens it has, tools left out: estimated, four bytes each."""
        return len(json.dumps(self.messages, ensure_ascii=False).encode("utf-8", "replace")) // 4

    def to_json(self) -> dict[str, Any]:
        """The line of the data set."""
        return {"messages": list(self.messages), "tools": offered()}


def row_of(talk: Talk, redact: Callable[[str], str]) -> Row | None:
    """The row of a memory step, without secrets; None if its answer cannot be read."""
    kind = kind_of(talk.answer)
    if kind is None:
        return None
    system = {"role": "system", "content": redact(_plain(talk.system))}
    messages = messages_of(talk.turns, [system], redact)
    return Row(messages, kind, _key(_task(messages)), _key(_shape(messages)))


def kind_of(answer: str) -> Kind | None:
    """What an answer decides, None if that cannot be read."""
    found = find_intervention(answer)
    if found is None:
        return "silence" if says_nothing(answer) else None
    return "watch" if found.when else "reminder"


def messages_of(
    turns: Iterable[Turn], before: Sequence[Mapping[str, Any]], redact: Callable[[str], str] = str
) -> list[dict[str, Any]]:
    """The messages of a conversation that goes on after `before` with some turns."""
    messages = [dict(message) for message in before]
    calls: Sequence[Mapping[str, Any]] = messages[-1].get("tool_calls", ())
    for turn in turns:
        messages += _results(turn, calls, redact)
        if turn.role == "assistant":
            message, calls = _answer(turn, len(messages), redact)
            messages.append(message)
        elif messages[-1]["role"] == "user":
            messages[-1]["content"] += "\n\n" + redact(turn.text)
        else:
            messages.append({"role": "user", "content": redact(turn.text)})
    return messages


def offered() -> list[dict[str, Any]]:
    """The four tools as a model is offered them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools()
    ]


def _plain(system: str) -> str:
    """The system prompt without the tools as text, which a model without native tools gets."""
    return system.removesuffix("\n" + as_text(tools())).removesuffix(
        "\n\n" + load_prompts()["tools"]
    )


def _answer(
    turn: Turn, place: int, redact: Callable[[str], str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    message: dict[str, Any] = {"role": "assistant", "content": redact(turn.text)}
    calls = [
        {
            "id": f"call_{place}_{n}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": json.dumps(_clean(dict(arguments), redact), ensure_ascii=False),
            },
        }
        for n, (name, arguments) in enumerate(turn.calls)
    ]
    if calls:
        message["tool_calls"] = calls
    return message, calls


def _results(
    turn: Turn, calls: Sequence[Mapping[str, Any]], redact: Callable[[str], str]
) -> list[dict[str, Any]]:
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "name": call["function"]["name"],
            "content": redact(result),
        }
        for call, result in zip(calls, turn.results, strict=False)
    ]


def _clean(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(key)): _clean(inner, redact) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner, redact) for inner in value]
    return value


def _task(messages: Sequence[Mapping[str, Any]]) -> str:
    opening = next((m["content"] for m in messages if m["role"] == "user"), "")
    m = _TASK.match(opening)
    return " ".join((m[1] if m else opening).split())


def _shape(messages: Sequence[Mapping[str, Any]]) -> str:
    """What makes a row another one: all its words, but not numbers of steps and calls."""
    parts = []
    for message in messages:
        parts.append(f"{message['role']}: {message['content']}")
        parts += (c["function"]["arguments"] for c in message.get("tool_calls", ()))
    return _NUMBER.sub("0", " ".join(" ".join(parts).split()))


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
