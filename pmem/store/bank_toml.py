"""bank.toml: the bank as text in one stable layout, and back.

Whatever a person wrote survives: keys this version does not know stay with their entry (or in
`MemoryBank.extra`), and so do entries that cannot be read. Comments do not, as the header says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pmem.core.bank import Entry, MemoryBank, free_id
from pmem.store import toml_text
from pmem.store.bank_blocks import SECTIONS, BankError, Block, Blocks, take_apart
from pmem.store.bank_entry import to_table
from pmem.store.tidy import plain, plain_value

__all__ = ["BankError", "Blocks", "NewerSchema", "Rendered", "dumps", "loads"]

#: The layout this version writes, and the newest it reads. 0 is that of a file without the key.
SCHEMA = 1
#: What brings the top of a file from one layout to the next; each takes and returns its tables.
UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {0: dict}
HEADER = (
    "# pmem memory bank. Edit freely; pmem reads it again before it writes.\n"
    '# For remarks use note = "…" (comments are not kept).\n'
)

#: Entry and its text, by id: what a writer that runs often keeps between two calls.
Rendered = dict[str, tuple[Entry, str]]


class NewerSchema(BankError):
    """The text was written by a newer pmem. It must be left alone."""


def dumps(bank: MemoryBank, rendered: Rendered | None = None) -> str:
    """The bank's text. `rendered` spares entries that did not change since the last call."""
    known: Rendered = {} if rendered is None else rendered
    extra = plain_value(bank.extra)
    parts = [HEADER, f"schema = {SCHEMA}\n"]
    if bank.revision:
        parts.append(f"revision = {bank.revision}\n")
    tables = []
    for name, thing in extra.items():
        if name in ("schema", "revision", "status", *SECTIONS):
            continue
        if isinstance(thing, Mapping):
            tables.append(toml_text.table(f"[{toml_text.key(name)}]", thing))
        else:
            parts.append(toml_text.line(name, thing))
    status = {"content": plain(bank.status), **extra.get("status", {})}
    tables_before = [toml_text.table("[status]", status)]
    for section in SECTIONS:
        for entry in bank.entries.values():
            if entry.section == section:
                tables_before.append(_rendered(entry, known))
        for raw in extra.get(section, ()):
            tables_before.append(toml_text.table(f"[[{section}]]", raw))
    for id in known.keys() - bank.entries.keys():
        del known[id]
    return "\n".join(["".join(parts), *tables_before, *tables])


def loads(text: str, remarks: list[str] | None = None, known: Blocks | None = None) -> MemoryBank:
    """The bank in a text. Sentences about what a person should mend are added to `remarks`.

    `known` spares what stood in the text of the call before. Raises BankError if the text is no
    bank, NewerSchema if a newer pmem wrote it.
    """
    said: list[str] = [] if remarks is None else remarks
    top, blocks = take_apart(text, known)
    schema = top.pop("schema", 0)
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 0:
        raise BankError(f"schema is {schema!r}; this pmem writes schema = {SCHEMA}")
    if schema > SCHEMA:
        raise NewerSchema(f"it has schema {schema}, this pmem reads up to {SCHEMA}")
    for older in range(schema, SCHEMA):
        top = UPGRADES[older](top)
    bank = MemoryBank()
    bank.schema = schema
    revision = top.pop("revision", 0)
    if isinstance(revision, int) and not isinstance(revision, bool):
        bank.revision = max(revision, 0)
    _read_status(bank, top.pop("status", {}))
    for block in blocks:
        said.extend(block.remarks)
        if block.entry is None:
            bank.extra.setdefault(block.section, []).append(block.raw)
            continue
        id = free_id(block.entry.id, bank.entries)
        if id != block.entry.id:
            said.append(f"the id {block.entry.id} stands twice in the bank; one is now {id}")
            bank.put(replace(block.entry, id=id))
        else:
            bank.put(block.entry)
    bank.extra.update(top)
    return bank


def remember(known: Blocks, rendered: Rendered) -> None:
    """Take what `dumps` wrote for known, so that `loads` need not parse it."""
    for entry, text in rendered.values():
        block = text + "\n"
        if block not in known:
            known[block] = Block(entry.section, {}, entry, ())


def trust_layout(known: Blocks, rendered: Rendered) -> None:
    """The other way round: what `loads` read is as `dumps` writes it, since pmem wrote it."""
    for block, read in known.items():
        if read.entry is not None:
            rendered[read.entry.id] = read.entry, block.removesuffix("\n")


def _read_status(bank: MemoryBank, status: Any) -> None:
    if isinstance(status, str):
        status = {"content": status}
    if not isinstance(status, dict) or not isinstance(status.get("content", ""), str):
        raise BankError('[status] must be a table with content = "…"')
    bank.status = plain(status.pop("content", ""))
    if status:
        bank.extra["status"] = plain_value(status)


def _rendered(entry: Entry, known: Rendered) -> str:
    old = known.get(entry.id)
    if old is not None and old[0] is entry:
        return old[1]
    text = toml_text.table(f"[[{entry.section}]]", plain_value(to_table(entry)))
    known[entry.id] = (entry, text)
    return text
