"""The text of a bank taken apart into its tables, block by block, so that most need no parsing.

Parsing a full bank takes tens of milliseconds, and a running session reads it again whenever
another one has written; all but a few blocks are as they were.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from pmem.core.bank import Entry, Section
from pmem.store import toml_plain
from pmem.store.bank_entry import Unreadable, from_table
from pmem.store.tidy import plain_value

SECTIONS: tuple[Section, Section] = ("knowledge", "procedural")

_HEADER = re.compile(r"^\[\[(knowledge|procedural)\]\]\n", re.MULTILINE)


class BankError(ValueError):
    """The text is no bank; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Block:
    """One entry as it was read; `entry` is None if it cannot be used as it stands: then `raw` is
    what stands there."""

    section: Section
    raw: dict[str, Any]
    entry: Entry | None
    remarks: tuple[str, ...]


#: Blocks by their text, from one reading to the next.
Blocks = dict[str, Block]


def take_apart(text: str, known: Blocks | None = None) -> tuple[dict[str, Any], list[Block]]:
    """The keys beside the entries, and the entries. Raises BankError if the text is no bank.

    `known` spares what stood in the text before; afterwards it holds what stands there now.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    parts = None if known is None else _by_blocks(text, known)
    return parts or _whole(text)


def _whole(text: str) -> tuple[dict[str, Any], list[Block]]:
    top = _parsed(text)
    blocks = [
        _block(section, raw)
        for section in SECTIONS
        for raw in _tables(section, top.pop(section, []))
    ]
    return top, blocks


def _by_blocks(text: str, known: Blocks) -> tuple[dict[str, Any], list[Block]] | None:
    """The same for the layout that pmem writes; None where only the whole tells."""
    # A header within a string leaves the string open in the block before: no TOML, so None.
    starts = [match.start() for match in _HEADER.finditer(text)]
    if not starts:
        return None
    blocks: Blocks = {}
    order: list[Block] = []
    *middle, last = (text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True))
    try:
        for part in middle:
            if part not in blocks:
                blocks[part] = known.get(part) or _only(toml_plain.table(part) or _parsed(part))
            order.append(blocks[part])
        top = _parsed(text[: starts[0]])
        end = _parsed(last)
        own: dict[str, Any] = {name: end.pop(name) for name in SECTIONS if name in end}
        order.append(_only(own))
    except (BankError, _Unclear):
        return None
    if top.keys() & {*end, *SECTIONS}:
        return None
    known.clear()
    known.update(blocks)
    order.sort(key=lambda block: SECTIONS.index(block.section))
    return {**top, **end}, order


class _Unclear(Exception):
    """A block that means something only within the whole."""


def _only(tables: dict[str, Any]) -> Block:
    if len(tables) == 1:
        for section in SECTIONS:
            if isinstance(tables.get(section), list):
                return _block(section, tables[section][0])
    raise _Unclear


def _block(section: Section, raw: dict[str, Any]) -> Block:
    remarks: list[str] = []
    try:
        return Block(section, {}, from_table(section, raw, remarks), tuple(remarks))
    except Unreadable as error:
        return Block(section, raw, None, (f"{error}; the entry stays in the file, unused",))


def _tables(section: str, value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):  # [knowledge] with single brackets
        return [value]
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    raise BankError(f"entries must stand in tables headed [[{section}]]")


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = plain_value(tomllib.loads(text))
        assert isinstance(found, dict)
        return found
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BankError(str(error) or "nested too deeply") from None
