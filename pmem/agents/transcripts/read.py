"""Reads a recorded run of any known format; which one it is shows in its content."""

from __future__ import annotations

from pathlib import Path

from pmem.agents.json_object import object_in
from pmem.agents.transcripts import aider, atif, claude, codex, gemini, mini
from pmem.agents.transcripts.recorded import Recorded, json_lines
from pmem.core.step import Step

KNOWN = (
    "steps.jsonl (neutral lines), ATIF, Claude Code, Codex, Gemini CLI, mini-swe-agent (.traj.json)"
    " and aider's chat history"
)


def read(path: Path) -> Recorded:
    """The run in this file.

    Raises ValueError with a sentence that names the file if it cannot be read, or is of no known
    format. Lines that are broken are told in `remarks` and left out.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    remarks: list[str] = []
    text = raw.decode("utf-8", "replace")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in raw:
        line = text.count("\n", 0, text.index("\ufffd")) + 1
        remarks.append(f"line {line} is not UTF-8; what cannot be read is shown as \ufffd")
    recorded = _document(text) or _lines(text, path, remarks)
    if recorded is None and aider.STARTED in text:
        recorded = Recorded("aider")
        aider.read(text, recorded)
    if recorded is None or not recorded.steps:
        why = "it holds no step" if recorded else "it is no recorded run"
        broken = f" ({remarks[0]})" if remarks else ""
        raise ValueError(f"{path}: {why}{broken}; pmem reads {KNOWN}")
    recorded.remarks = remarks
    return recorded


def _document(text: str) -> Recorded | None:
    """A run that is one JSON document, None if it is not one."""
    if not text.lstrip().startswith("{"):
        return None
    document = object_in(text)
    if str(document.get("schema_version", "")).startswith("ATIF"):
        recorded = Recorded("ATIF")
        atif.read(document, recorded)
        return recorded
    if "projectHash" in document and isinstance(document.get("messages"), list):
        recorded = Recorded("Gemini CLI")
        gemini.read([document], recorded)
        return recorded
    if isinstance(document.get("messages"), list):
        recorded = Recorded("mini-swe-agent")
        mini.read(document, recorded)
        return recorded
    return None


def _lines(text: str, path: Path, remarks: list[str]) -> Recorded | None:
    """A run of one JSON object a line, None if no line tells what it is."""
    broken: list[str] = []
    lines = list(json_lines(text, broken))
    for line in lines:
        if ("step" in line and "kind" in line) or line.get("header") or "task" in line:
            remarks += broken
            return _neutral(text, remarks)
        if line.get("type") == "session_meta" or "payload" in line:
            recorded = Recorded("Codex")
            codex.read(lines, recorded)
        elif "projectHash" in line or "$set" in line:
            recorded = Recorded("Gemini CLI")
            gemini.read(lines, recorded)
        elif "sessionId" in line or line.get("type") in ("summary", "file-history-snapshot"):
            recorded = Recorded("Claude Code")
            claude.read(path, lines, recorded)
        else:
            continue
        remarks += broken
        return recorded
    remarks += broken
    return None


def _neutral(text: str, remarks: list[str]) -> Recorded:
    recorded = Recorded("pmem")
    for number, line in enumerate(text.split("\n"), start=1):
        found = object_in(line)  # what is none was told already
        if "step" not in found:
            recorded.header.update(found)
            continue
        try:
            recorded.steps.append(Step.from_json(found))
        except ValueError as error:
            remarks.append(f"line {number}: {error}; it was left out")
    return recorded
