"""A whole entry in a person's own editor: as TOML, and the fields that were changed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pmem.core.bank import Entry, MemoryBank
from pmem.review.desk import Editor
from pmem.store.bank_toml import BankError, dumps, loads


def change(entry: Entry, edit: Editor) -> dict[str, Any]:
    """The fields that the person changed, {} if none.

    Raises ValueError if the text cannot be read, or holds another entry than this one.
    """
    text = edit(dumps(MemoryBank("", [entry])))
    if text is None:
        return {}
    remarks: list[str] = []
    try:
        found = list(loads(text, remarks).entries.values())
    except BankError as error:
        raise ValueError(f"not taken over: {error}") from None
    if remarks:
        raise ValueError(f"not taken over: {remarks[0]}")
    if len(found) != 1 or found[0].id != entry.id:
        raise ValueError("not taken over: one entry with the same id must stand in the text")
    new = found[0]
    names = [f.name for f in fields(Entry) if getattr(new, f.name) != getattr(entry, f.name)]
    changed = {name: getattr(new, name) for name in names}
    if "section" in changed:
        raise ValueError("not taken over: an entry stays in its section; add it anew in the other")
    if changed.keys() & {"content", "when"} and "source" not in changed:
        changed |= {"source": "user", "stale": "", "files": {}}
    return changed
