"""What a model's text says: tool calls in the two text forms, a reminder or silence.

What cannot be read is nothing: half a call is no call, half a reminder is silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pmem.core import json_text

#: Text beyond this is not looked at, in characters.
MAX_TEXT = 100_000

_THOUGHT = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_CALL = re.compile(r"<tool_call>", re.IGNORECASE)
_CALL_END = re.compile(r"</tool_call>", re.IGNORECASE)
_FUNCTION = re.compile(r"<function=([\w.-]{1,80})>", re.IGNORECASE)
_FUNCTION_END = re.compile(r"</function>", re.IGNORECASE)
_PARAMETER = re.compile(r"<parameter=([\w.-]{1,80})>", re.IGNORECASE)
_PARAMETER_END = re.compile(r"</parameter>", re.IGNORECASE)
_CONTEXT = re.compile(
    r"<context_for_action((?:\s++[\w-]++\s*+=\s*+(?:\"[^\"]{0,4000}\"|'[^']{0,4000}'))*+)\s*+>",
    re.IGNORECASE,
)
_CONTEXT_END = re.compile(r"</context_for_action>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_SILENCE = re.compile(r"<no_intervention\s*/?>", re.IGNORECASE)
_NOTHING = re.compile(r"\W*(?:none|nothing|n/?a|no[ _]intervention|silence)?\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextCall:
    """A tool call written as text."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Intervention:
    """A reminder as the model worded it: the entries it names, the watch it asks for."""

    text: str
    entries: tuple[str, ...] = ()
    when: Mapping[str, Any] | None = None


def without_thoughts(text: str) -> str:
    """The text without what a reasoning model thought aloud; an open thought has no end."""
    text = text[:MAX_TEXT]
    parts, done = [], 0
    for opening, _end, after in _spans(text, _THOUGHT, _THOUGHT_END):
        parts.append(text[done : opening.start()])
        done = after
    rest = text[done:]
    unfinished = _THOUGHT.search(rest)
    said = "".join(parts) + (rest[: unfinished.start()] if unfinished else rest)
    # Some endpoints leave the first tag out.
    return _THOUGHT_END.split(said)[-1]


def parse_tool_calls(text: str) -> list[TextCall]:
    """The calls in `<tool_call>` with JSON, and in `<function=…><parameter=…>`, in their order."""
    text = without_thoughts(text)
    found: list[tuple[int, TextCall]] = []
    for opening, end, _ in _spans(text, _FUNCTION, _FUNCTION_END):
        body = text[opening.end() : end]
        arguments = {
            name[1]: _value(body[name.end() : close])
            for name, close, _ in _spans(body, _PARAMETER, _PARAMETER_END)
        }
        found.append((opening.start(), TextCall(opening[1], arguments)))
    for opening, end, _ in _spans(text, _CALL, _CALL_END):
        call = _json_call(text[opening.end() : end])
        if call is not None:
            found.append((opening.start(), call))
    return [call for _, call in sorted(found, key=lambda place: place[0])]


def find_intervention(text: str) -> Intervention | None:
    """The reminder in an answer; None for silence and for what cannot be read.

    Of several the last counts; `<no_intervention/>` after it takes it back.
    """
    text = without_thoughts(text)
    spans = _spans(text, _CONTEXT, _CONTEXT_END)
    if not spans:
        return None
    last, end, after = spans[-1]
    said = text[last.end() : end].strip()
    if _SILENCE.search(text, after) or _NOTHING.fullmatch(said[:80]):
        return None
    given = {name: double or single for name, double, single in _ATTRIBUTE.findall(last[1])}
    entries = tuple(id.strip(" []`") for id in re.split(r"[,;\s]+", given.get("entries", "")) if id)
    return Intervention(said, tuple(e for e in entries if e), _table(given.get("when")))


def parse_intervention(text: str | None) -> str | None:
    """The text of `<context_for_action>` in an answer; None for `<no_intervention/>`, for an
    answer without text, and for anything that cannot be read."""
    found = find_intervention(text or "")
    return found.text if found is not None else None


def says_nothing(text: str) -> bool:
    """Whether an answer is `<no_intervention/>` and no reminder."""
    plain = without_thoughts(text)
    return bool(_SILENCE.search(plain)) and find_intervention(plain) is None


def _spans(
    text: str, opening: re.Pattern[str], closing: re.Pattern[str]
) -> list[tuple[re.Match[str], int, int]]:
    """Whole elements: the opening tag, where its body ends, where what comes after begins.

    Found by walking on, so that a thousand tags without an end cost no more than one.
    """
    found = []
    at = 0
    while (start := opening.search(text, at)) is not None:
        end = closing.search(text, start.end())
        if end is None:
            break
        found.append((start, end.start(), end.end()))
        at = end.end()
    return found


def _json_call(text: str) -> TextCall | None:
    try:
        call = json_text.loads(text.strip())
    except ValueError:
        return None
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return None
    arguments = call.get("arguments", call.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _table(arguments)
    return TextCall(call["name"], arguments) if isinstance(arguments, dict) else None


def _value(text: str) -> Any:
    """A parameter: the text between its tags, or the list or object it holds."""
    text = text.strip()
    if text[:1] in ("[", "{"):
        try:
            return json_text.loads(text)
        except ValueError:
            return text
    return text


def _table(text: str | None) -> Mapping[str, Any] | None:
    try:
        found = json_text.loads(text or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
