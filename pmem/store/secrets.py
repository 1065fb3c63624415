"""Secrets that stand in a project's files: written by hand, by another tool, or before a pattern
was known. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pmem.core.redact import findings, redact
from pmem.store import files
from pmem.store.project import Project

#: Files below the project's state directory that hold text of its sessions.
_OF_SESSIONS = ("steps.jsonl", "decisions.jsonl", "model.jsonl", "bank.toml")


@dataclass(frozen=True, slots=True)
class Found:
    """A secret as it may be shown: where it stands, and its prefix and length."""

    path: Path
    line: int
    shown: str


def found(project: Project, redacted: Callable[[str], str] = redact) -> Iterator[Found]:
    """Every secret in the bank, its archive and copy, and the logs of the project's sessions."""
    places = [project.bank, project.archive, project.state / "bank.toml.good"]
    for name in _OF_SESSIONS:
        places += sorted(project.state.glob(f"*/{name}"))
    for path in places:
        try:
            content, _ = files.read_file(path, limit=1 << 28)
        except OSError:
            continue
        yield from _in(path, content.decode("utf-8", "replace"), redacted)


def _in(path: Path, text: str, redacted: Callable[[str], str]) -> Iterator[Found]:
    left = findings(text, redacted)
    if not left:
        return
    seen = 0
    for number, line in enumerate(text.split("\n"), start=1):
        for shown in findings(line, redacted):
            seen += 1
            yield Found(path, number, shown)
    for shown in left[seen:]:  # of several lines, as a private key is
        yield Found(path, 0, shown)
