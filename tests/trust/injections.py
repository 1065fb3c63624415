"""The corpus of injections, and what must hold of whatever pmem made of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from pmem.core.bank import MemoryBank
from pmem.core.decision import HEADER

#: What is planted, told apart by a number, so that every trace of one can be found.
CANARY = "canary-{:02d} --now"
_NAME = re.compile(r"canary-\d\d")
_QUOTED = re.compile(r"“[^“”]*”|`[^`]*`")
_HEADER = re.escape(HEADER)
_REMINDER = re.compile(
    rf"{_HEADER} (?:(?!{_HEADER}).){{1,2000}}?\n\(pmem: recorded observations", re.DOTALL
)
#: What an agent's harness or a model's template could take for its own.
MARKUP = re.compile(
    r"<[|/ ]*(?:system|context_for|no_inter|tool|function|invoke|im_|parameter)|\[/?INST\]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060\ufe00-\ufe0d\ufeff\U000e0000-\U000e0fff]"
    r"|^(?:human|assistant|system|user)\s*:",
    re.I | re.M,
)


def planted() -> dict[str, str]:
    """Every style with its own canary, as a program prints it."""
    styles = _table()["planted"]
    made = {}
    for number, (name, text) in enumerate(styles.items()):
        made[name] = text.replace("CANARY", CANARY.format(number))
    made["long"] = made["long"].replace("LONG", "x " * 3000)
    return made


def honest() -> dict[str, str]:
    """Failures as they are."""
    return dict(_table()["honest"])


def outside_quotes(text: str) -> list[str]:
    """The canaries that stand in a reminder as its own words."""
    return _NAME.findall(_QUOTED.sub("“…”", text.replace(HEADER, "")))


def unruly(reminder: str) -> list[str]:
    """What is wrong with a reminder as the agent reads it."""
    body = reminder.replace(HEADER, "", 1).partition("\n(pmem: recorded observations")[0]
    wrong = [f"as its own words: {name}" for name in outside_quotes(body)]
    wrong += [f"markup: {m[0]!r}" for m in MARKUP.finditer(body)]
    if HEADER in body or "MEMORY REMINDER]" in body:
        wrong.append("a second header")
    return wrong


def grown(bank: MemoryBank) -> list[str]:
    """What entries outputs must never become: a watch, a rule, a word of the user's or a file's."""
    return [
        f"{entry.id}: {entry.when or entry.tags or entry.source}"
        for entry in bank.entries.values()
        if entry.when is not None
        or {"constraint", "requirement"} & set(entry.tags)
        or not entry.source.startswith("step ")
    ]


def reminders(texts: list[str]) -> list[str]:
    """Every reminder of pmem's in the texts of an agent's requests.

    A header that an output wrote is none: pmem's own ends in its note.
    """
    return [m[0] for text in texts for m in _REMINDER.finditer(text)]


def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("injections.toml").read_text("utf-8"))
