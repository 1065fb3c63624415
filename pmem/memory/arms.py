"""Arms: the memory agents by the name a setting gives them."""

from __future__ import annotations

from pathlib import Path

from pmem.memory.protocol import MemoryAgent

#: Arms that need no model.
EMBEDDED = ("off", "rules")


def memory_agent(arm: str) -> MemoryAgent | None:
    """The memory agent of an arm: `rules`, `scripted:FILE`; None for `off`.

    Raises ValueError with a sentence that names the arms there are.
    """
    if arm == "off":
        return None
    if arm == "rules":
        from pmem.memory.rules import Rules

        return Rules()
    if arm.startswith("scripted:"):
        from pmem.memory.scripted import load_script

        return load_script(Path(arm.removeprefix("scripted:")).expanduser())
    known = ", ".join((*EMBEDDED, "scripted:FILE"))
    raise ValueError(f"there is no memory agent {arm!r}; there are {known}")
