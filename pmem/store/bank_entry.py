"""One entry of the bank as a table: the keys of bank.toml, of `--json` and of archive.jsonl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pmem.core.bank import Entry, Section, normal_id

#: The order of the keys in the file.
KEYS = (
    "id",
    "content",
    "tags",
    "outcome",
    "command",
    "cwd",
    "attempts",
    "exit_code",
    "failure",
    "output",
    "first_step",
    "last_step",
    "failed_steps",
    "passed_steps",
    "session",
    "source",
    "when",
    "note",
    "files",
    "stale",
)
_NUMBERS = frozenset({"attempts", "exit_code", "first_step", "last_step"})
_NUMBER_LISTS = frozenset({"failed_steps", "passed_steps"})
_DEFAULTS: dict[str, Any] = {f.name: {} if f.name == "files" else f.default for f in fields(Entry)}


class Unreadable(ValueError):
    """An entry that cannot be used as it stands; the message says which and why."""


def to_table(entry: Entry) -> dict[str, Any]:
    """The entry's keys in the order of the file; what is at its default is left out."""
    table: dict[str, Any] = {}
    for key in KEYS:
        value = getattr(entry, key)
        if key in ("id", "content") or value != _DEFAULTS[key]:
            table[key] = list(value) if isinstance(value, tuple) else value
    return {**table, **entry.extra}


def from_table(section: Section, table: Mapping[str, Any], remarks: list[str]) -> Entry:
    """The entry in a table; an id is brought to its normal form, a missing one made from words.

    A watch that does not hold is kept and told in `remarks`. Raises Unreadable.
    """
    known = {key: table[key] for key in KEYS if key in table}
    id = _id(section, known)
    for key, value in known.items():
        known[key] = _checked(key, value, f"[[{section}]] {id}")
    known["id"] = id
    known.setdefault("content", "")
    if not known["content"] and not known.get("command"):
        raise Unreadable(f"[[{section}]] {id} has no content")
    extra = {key: value for key, value in table.items() if key not in KEYS}
    if known.get("when") is not None:
        _check_watch(id, known["when"], remarks)
    return Entry(section, **known, extra=extra)


def _id(section: str, known: Mapping[str, Any]) -> str:
    given = known.get("id")
    words = given if given is not None else known.get("command") or known.get("content")
    if not isinstance(words, str):
        raise Unreadable(f"an entry of [[{section}]] has no id and no content")
    try:
        return normal_id(words)
    except ValueError:
        raise Unreadable(f"an entry of [[{section}]] has the id {given!r}") from None


def _checked(key: str, value: Any, where: str) -> Any:
    if key == "when":
        if isinstance(value, dict):
            return value
        raise Unreadable(f'{where}: when must be a table, as in when = {{ command = "…" }}')
    if key == "files":
        if isinstance(value, dict) and all(isinstance(v, str) for v in value.values()):
            return value
        raise Unreadable(f"{where}: files must be a table of hashes by file")
    if key in _NUMBERS:
        if _whole(value):
            return value
        raise Unreadable(f"{where}: {key} must be a whole number")
    if key in _NUMBER_LISTS:
        if isinstance(value, list) and all(_whole(item) for item in value):
            return tuple(value)
        raise Unreadable(f"{where}: {key} must be a list of whole numbers")
    if key == "tags":
        tags = [value] if isinstance(value, str) else value
        if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
            return tuple(tags)
        raise Unreadable(f"{where}: tags must be a list of strings")
    if isinstance(value, str):
        return value
    raise Unreadable(f"{where}: {key} must be a string")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_watch(id: str, when: Mapping[str, Any], remarks: list[str]) -> None:
    from pmem.core.watch import parse_watch

    try:
        parse_watch(when)
    except ValueError as error:
        remarks.append(f"the watch of {id} is not armed: {error}")
