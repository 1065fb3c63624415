"""The four tools of phase 1: their schemas, and what a call of one means for the bank."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmem.core import json_text
from pmem.core.bank import (
    MAX_STATUS,
    BankOp,
    Delete,
    MemoryBank,
    SaveKnowledge,
    SaveProcedural,
    UpdateStatus,
    free_id,
    normal_id,
)
from pmem.core.text import clean, shorten
from pmem.core.when import parse_watch
from pmem.models.protocol import Tool

#: Calls beyond this in one answer are not carried out.
MAX_CALLS = 24
#: Characters kept of an entry's content.
MAX_CONTENT = 1000
MAX_TAGS = 8

_ID = {"type": "string", "description": "short words joined by -; a known id updates its entry"}
_WHEN = {
    "type": "object",
    "description": "a watch: the condition under which pmem itself reads the content to the agent",
}


def tools(*, pure: bool = False) -> tuple[Tool, ...]:
    """The tools. `pure`: as in the paper, without ids and watches in the save tools."""
    extra: dict[str, Any] = {} if pure else {"id": _ID}
    when: dict[str, Any] = {} if pure else {"when": _WHEN}
    first = [] if pure else ["id"]
    text = {"type": "string"}
    return (
        Tool(
            "memory_update_status",
            f"Replace the private status (at most {MAX_STATUS} characters).",
            _schema({"content": text}, ["content"]),
        ),
        Tool(
            "memory_save_knowledge",
            "Keep a stable fact, or update it.",
            _schema(
                {**extra, "content": text, "tags": {"type": "array", "items": text}, **when},
                [*first, "content"],
            ),
        ),
        Tool(
            "memory_save_procedural",
            "Keep what was tried and what came of it, or update it.",
            _schema(
                {
                    **extra,
                    "content": text,
                    "outcome": {"type": "string", "description": "failed, succeeded, diagnosis, …"},
                    **when,
                },
                [*first, "content", "outcome"],
            ),
        ),
        Tool("memory_delete", "Delete an entry.", _schema({"id": text}, ["id"])),
    )


def as_text(offered: Iterable[Tool]) -> str:
    """The tools for a prompt, one JSON line each."""
    return "\n".join(
        json.dumps(
            {"name": t.name, "description": t.description, "parameters": t.parameters},
            ensure_ascii=False,
        )
        for t in offered
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call means: an operation or none, and the line that is fed back."""

    op: BankOp | None
    told: str


def carry_out(
    calls: Sequence[tuple[str, Mapping[str, Any]]], bank: MemoryBank, *, watches: bool = True
) -> list[Outcome]:
    """Read calls (name, arguments) against a bank; each sees what those before it did.

    `bank` is changed: give a copy. What cannot be done is told and left out.
    """
    outcomes = []
    for n, (name, arguments) in enumerate(calls):
        if n >= MAX_CALLS:
            outcomes.append(
                Outcome(None, f"not done: {MAX_CALLS} calls in one answer are the most")
            )
            continue
        try:
            outcome = _outcome(name, arguments, bank, watches)
        except (TypeError, ValueError) as error:
            outcome = Outcome(None, f"not done: {error}")
        if outcome.op is not None:
            bank.apply(outcome.op)
        outcomes.append(outcome)
    return outcomes


def _outcome(name: str, arguments: Mapping[str, Any], bank: MemoryBank, watches: bool) -> Outcome:
    match name.rpartition(".")[2]:
        case "memory_update_status":
            return Outcome(UpdateStatus(_text(arguments, "content", MAX_STATUS)), "status updated")
        case "memory_save_knowledge":
            content = _text(arguments, "content", MAX_CONTENT)
            id = _id(arguments, content, bank)
            _may_write(id, bank, "knowledge")
            when, remark = _when(arguments, watches)
            return Outcome(
                SaveKnowledge(id, content, _tags(arguments.get("tags")), when=when),
                f"saved {id}{remark}",
            )
        case "memory_save_procedural":
            content = _text(arguments, "content", MAX_CONTENT)
            id = _id(arguments, content, bank)
            _may_write(id, bank, "procedural")
            when, remark = _when(arguments, watches)
            said = arguments.get("outcome")
            outcome = shorten(clean(said), 6, 40) if isinstance(said, str) else ""
            return Outcome(
                SaveProcedural(id, content, outcome or "diagnosis", when=when),
                f"saved {id}{remark}",
            )
        case "memory_delete":
            given = str(arguments.get("id", ""))
            id = bank.known(given) or normal_id(given)
            if bank.get(id) is None:
                return Outcome(None, f"there is no entry {id}")
            _may_write(id, bank, None)
            return Outcome(Delete(id), f"deleted {id}")
    raise ValueError(f"there is no tool {name[:40]!r}")


def _id(arguments: Mapping[str, Any], content: str, bank: MemoryBank) -> str:
    given = arguments.get("id")
    if isinstance(given, str | int) and not isinstance(given, bool) and str(given).strip():
        return bank.known(str(given)) or normal_id(str(given))
    return free_id(normal_id(" ".join(content.split()[:5])), bank.entries)


def _may_write(id: str, bank: MemoryBank, section: str | None) -> None:
    """Raises ValueError for an entry that is not the model's to change."""
    old = bank.get(id)
    if old is None:
        return
    if old.source == "user":
        raise ValueError(f"{id} was written by the user and stays as it is")
    if section is not None and old.command and section != old.section:
        raise ValueError(f"{id} is an attempt that pmem records; use memory_save_procedural")


def _text(arguments: Mapping[str, Any], key: str, limit: int) -> str:
    value = arguments.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} must be a text")
    text = clean(value).strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _tags(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple):
        return ()
    tags = (clean(str(tag)).strip()[:40] for tag in value[:MAX_TAGS])
    return tuple(tag for tag in tags if tag)


def _when(arguments: Mapping[str, Any], watches: bool) -> tuple[Mapping[str, Any] | None, str]:
    """The watch of a call and a remark on it; a broken one is left out and told."""
    value = arguments.get("when")
    if not value or not watches:
        return None, ""
    if isinstance(value, str):
        try:
            value = json_text.loads(value)
        except ValueError:
            return None, ", without its watch: when must be an object"
    try:
        parse_watch(value)
    except ValueError as error:
        return None, f", without its watch: {error}"
    return dict(value), " with its watch"


def _schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}
