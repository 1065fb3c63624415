"""Agents without tools: what they run stands in the words of both sides.

A command is a fenced block of the agent's (mini-swe-agent, aider), or JSON with keystrokes
(terminus); what it brought back stands in the next words of the user's side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from pmem.core import json_text
from pmem.proxy.typed import without_rules
from pmem.proxy.wire import Called, Entry, Returned, Said, Words

#: The tool that words call.
TOOL = "shell"
_FENCED = re.compile(
    r"^```(?:bash|sh|shell|zsh|console|mswea_bash_command)[ \t]*\n(.*?)^```[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
#: aider tells what ran, and what came of it; each block ends where the next begins.
_OUTPUTS = re.compile(r"^Output from (?P<command>[^\n]+)\n", re.MULTILINE)
_RAN = re.compile(
    r"\AI ran this command:\n\n(?P<command>.+?)\n\nAnd got this output:\n\n(?P<output>.*)",
    re.DOTALL,
)
#: Beginnings by which the user's side is the terminal, and no person.
_OBSERVED = re.compile(
    r"\s*(?:<returncode>|<output>|<observation>|Observation:|OBSERVATION:|New Terminal Output"
    r"|Current terminal state|Current Terminal Screen|Terminal output|The last command)"
)


def with_calls(entries: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """The same entries, with the calls that stand in the words, and what they brought back.

    A call's id is made of its place in the conversation.
    """
    found: list[list[Entry]] = []
    waiting: list[str] = []
    number = 0
    last = ""
    for group in entries:
        told: list[Entry] = []
        for entry in group:
            if isinstance(entry, Words):
                told.append(entry)
                waiting = commands(entry.text)
                continue
            if not isinstance(entry, Said):
                told.append(entry)
                continue
            text = without_rules(entry.text).rstrip()
            ran = _observed(text, waiting)
            if ran and text == last:  # aider says the output of a failing test twice in a row
                continue
            last = text
            if not ran:
                told.append(entry)
            for command, output in ran:
                number += 1
                id = f"~{blake2b(f'{number} {command}'.encode(), digest_size=8).hexdigest()}"
                told += [Called(id, TOOL, {"command": command}), Returned(id, output)]
            waiting = []
        found.append(told)
    return found


def proposed(entries: Sequence[Entry]) -> list[Entry]:
    """A reply's entries, with the calls that stand in its words."""
    found: list[Entry] = []
    for entry in entries:
        found.append(entry)
        if isinstance(entry, Words):
            found += [Called("", TOOL, {"command": command}) for command in commands(entry.text)]
    return found


def commands(words: str) -> list[str]:
    """The commands in an agent's words, in their order."""
    fenced = [block.strip() for block in _FENCED.findall(words) if block.strip()]
    if fenced:
        return fenced
    start, end = words.find("{"), words.rfind("}")
    if '"keystrokes"' not in words or start < 0:
        return []
    try:
        told = json_text.loads(words[start : end + 1])
    except ValueError:
        return []
    lines = told.get("commands") if isinstance(told, dict) else None
    keys = [c.get("keystrokes") for c in lines or () if isinstance(c, dict)]
    return [key.strip() for key in keys if isinstance(key, str) and key.strip()]


def _observed(text: str, waiting: Sequence[str]) -> list[tuple[str, str]]:
    """The commands that this text tells of, with their outputs."""
    ran = _RAN.match(text)
    if ran:
        return [(ran["command"].strip(), ran["output"].rstrip())]
    if text.startswith("Output from "):
        parts = list(_OUTPUTS.finditer(text))
        ends = [part.start() for part in parts[1:]] + [len(text)]
        return [
            (part["command"], text[part.end() : end].rstrip())
            for part, end in zip(parts, ends, strict=True)
        ]
    if waiting and _OBSERVED.match(text):
        return [("\n".join(waiting), text)]
    return []
