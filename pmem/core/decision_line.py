"""A line of decisions.jsonl as its readers may trust it, whoever wrote or broke it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pmem.core.json_text import tables


def settled(record: Mapping[str, Any]) -> dict[str, Any]:
    """The line without members that are not what they should be; unknown ones stay.

    `before_step` is there in any case, 0 where it cannot be told.
    """
    line = _kept(record, _LINE)
    line.setdefault("before_step", 0)
    return line


def _kept(record: Mapping[str, Any], known: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    kept = {}
    for name, value in record.items():
        told = known[name](value) if name in known else value
        if told is not None:
            kept[name] = told
    return kept


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None


def _number(value: Any) -> float | None:
    return value if type(value) in (int, float) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _wholes(value: Any) -> list[int]:
    return [one for one in value if type(one) is int] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _entries(value: Any) -> list[dict[str, Any]]:
    return [_kept(one, _ENTRY) for one in tables(value)]


def _cost(value: Any) -> dict[str, Any] | None:
    return _kept(value, _COST) if isinstance(value, Mapping) else None


_LINE: dict[str, Callable[[Any], Any]] = {
    "before_step": _whole,
    **dict.fromkeys(("time", "ms"), _number),
    **dict.fromkeys(("trigger", "decision", "verdict", "proposed", "candidate", "text"), _text),
    **dict.fromkeys(("reason", "cause", "form", "delivery", "channel", "audience"), _text),
    **{"hold": _truth, "entries": _texts, "cited": _entries, "model": _cost},
}
_ENTRY: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("section", "id", "content", "outcome", "command", "cwd"), _text),
    **dict.fromkeys(("failure", "source", "session"), _text),
    **dict.fromkeys(("steps", "failed_steps", "passed_steps"), _wholes),
    **dict.fromkeys(("attempts", "exit_code", "first_step", "last_step"), _whole),
}
_COST: dict[str, Callable[[Any], Any]] = {
    **{"name": _text, "calls": _wholes},
    **dict.fromkeys(("input", "output", "cache_read", "cache_write"), _whole),
    **dict.fromkeys(("money", "ms"), _number),
}
