"""What agents make of a command's result before their model reads it, taken apart again.

Found by running the agents named in docs/proxy.md. An exit code is told only where the text
tells it; nothing is guessed from the words of an output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ran:
    """One command's result: its output, its exit code (None: not told), and the whole text."""

    output: str
    exit_code: int | None
    failed: bool | None
    told: str


_CLAUDE = re.compile(r"\AExit code (\d+)\n?")
_CODEX = re.compile(
    r"\A(?:Chunk ID: [^\n]*\n|Wall time: [^\n]*\n|Original token count: [^\n]*\n)*"
    r"(?:Exit code: |Process exited with code )(\d+)\n(?:[^\n]*\n){0,4}?Output:\n"
)
_CODE_MODE = re.compile(r"\AScript \w+\nWall time [^\n]*\nOutput:\n\s*")
_GEMINI = re.compile(r"^(?:Output|Stdout): ", re.MULTILINE)
#: What Gemini CLI writes behind a command's output, in this order, and none of it twice.
_GEMINI_FIELDS = ("Error", "Exit Code", "Signal", "Background PIDs", "Process Group PGID")
_GEMINI_FIELD = re.compile(rf"({'|'.join(_GEMINI_FIELDS)}): (.*)")
_GEMINI_HEAD = re.compile(r"\A(?:<untrusted_context>\n)?(?:Command: |Output: )")
_TAGGED = re.compile(
    r"\A\s*<returncode>(-?\d+)</returncode>\s*(?:<output>\n?)?(.*?)(?:</output>)?\s*\Z", re.DOTALL
)
_CLINE = re.compile(r"\A\[Command exited with code (\d+)\]\n")
_COPILOT = re.compile(r"\n?<(?:shellId: \S+|\S+) completed with exit code (\d+)>\s*\Z")
_OPENCODE = re.compile(r"<metadata>\n.*?</metadata>\s*\Z|<bash_metadata>.*\Z", re.DOTALL)
#: What an agent adds behind an output is no longer than this.
_LAST = 1000


def results(text: str, failed: bool | None, commands: int = 1) -> list[Ran]:
    """A call's result as one for each of its commands, or as a single one for all of them."""
    text = _CODE_MODE.sub("", text)
    several = _in_json(text, failed)
    if len(several) == commands:
        return several
    if several:
        codes = [ran.exit_code for ran in several]
        code = next((c for c in codes if c), codes[-1])
        whole = "\n".join(ran.output for ran in several)
        return [Ran(whole, code, failed, text)]
    return [_one(text, failed)]


def _one(text: str, failed: bool | None) -> Ran:
    for pattern in (_CLAUDE, _CODEX, _CLINE):
        found = pattern.match(text)
        if found:
            return Ran(text[found.end() :], int(found[1]), failed, text)
    tagged = _TAGGED.match(text)
    if tagged:
        return Ran(tagged[2], int(tagged[1]), failed, text)
    ended = _COPILOT.search(text, max(0, len(text) - _LAST))
    if ended:
        return Ran(text[: ended.start()], int(ended[1]), failed, text)
    if _GEMINI_HEAD.match(text) and (ran := gemini(text, failed)):
        return ran
    # Who tells failures apart tells a command that passed by telling none.
    return Ran(_OPENCODE.sub("", text), 0 if failed is False else None, failed, text)


def gemini(text: str, failed: bool | None = None) -> Ran | None:
    """What Gemini CLI says of a command, None where it says of none that it has ended.

    It leaves an exit code out that is 0. Its own words are those at the end: a command may print
    lines like them. An error it names is kept with the output.
    """
    found = _GEMINI.search(text)
    if found is None:
        return None
    body = text[found.end() :].rstrip().removesuffix("</untrusted_context>").rstrip("\n")
    lines, fields, after = body.split("\n"), dict[str, str](), len(_GEMINI_FIELDS)
    while len(lines) > 1 and (field := _GEMINI_FIELD.fullmatch(lines[-1])):
        name, value = field.groups()
        if _GEMINI_FIELDS.index(name) >= after or (name == "Error" and value != "(none)"):
            break
        fields[name], after = value, _GEMINI_FIELDS.index(name)
        lines.pop()
    output = "\n".join(lines).rstrip("\n")
    return Ran("" if output == "(empty)" else output, _gemini_code(fields), failed, text)


def _gemini_code(fields: Mapping[str, str]) -> int | None:
    exited, signal = fields.get("Exit Code", "0"), fields.get("Signal", "")
    if signal.isdecimal():
        return 128 + int(signal)
    return int(exited) if exited.isdecimal() else None


def _in_json(text: str, failed: bool | None) -> list[Ran]:
    """Results that are JSON: one object, several behind one another, or a list of them."""
    if text[:1] not in ("{", "["):
        return []
    decode, at, found = json.JSONDecoder().raw_decode, 0, []
    while at < len(text):
        try:
            value, at = decode(text, at)
        except (ValueError, RecursionError):
            return []
        for one in value if isinstance(value, list) else [value]:
            ran = _of_object(one, failed, text) if isinstance(one, Mapping) else None
            if ran is None:
                return []
            found.append(ran)
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def _of_object(one: Mapping[str, Any], failed: bool | None, text: str) -> Ran | None:
    """mini-swe-agent, Codex (both of its modes), Cline."""
    if "query" in one and "result" in one:
        output = str(one["result"])
        exited = _CLINE.match(output)
        passed = one.get("success")
        code = int(exited[1]) if exited else 0 if passed is True else None
        return Ran(
            output[exited.end() :] if exited else output,
            code,
            failed if passed is None else not passed,
            text,
        )
    metadata = one.get("metadata")
    for holder in (one, metadata if isinstance(metadata, Mapping) else {}):
        for key in ("returncode", "exit_code"):
            if isinstance(holder.get(key), int) and isinstance(one.get("output"), str):
                return Ran(str(one["output"]), int(holder[key]), failed, text)
    return None
