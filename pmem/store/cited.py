"""CitedFiles: whether the files an entry cites still say what they said when it was noted.

An entry cites the file that its `source` names (`FILE` or `FILE:LINE`), a fact also those that its
words name by their line. A hash of each is kept in its `files`: of the whole file, or, for a rule
file that is read line by line, of the one line, wherever it stands by now.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pmem.core.bank import Entry, Mark
from pmem.store import files

#: A file that holds more is not looked into, in bytes.
MAX_BYTES = 1 << 22
#: Of a fact's words so many characters are looked at, and so many files counted.
MAX_WORDS, MAX_NAMED = 2000, 4
#: Files whose hashes are remembered; of more they are read again.
MAX_KNOWN = 1000
#: Rule files: each line stands for itself.
RULE_FILES = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules")

CHANGED, GONE, UNSAID = "has changed", "is gone", "says it no more"
_SOURCE = re.compile(r"(?P<file>[^\s:][^:\n]*?)(?::(?P<line>\d+))?")
_NAMED = re.compile(r"(?<![\w./@:-])((?:[\w.-]+/)*[\w.-]+\.[A-Za-z]\w{0,7}:\d+)(?![\w.])")


def cited(entry: Entry) -> list[str]:
    """What an entry cites, as `FILE` or `FILE:LINE`; nothing if a person wrote it."""
    source = entry.source
    if source == "user":
        return []
    found = []
    match = None if source.startswith("step ") else _SOURCE.fullmatch(source)
    if match is not None and (match["line"] or "/" in match["file"] or "." in match["file"]):
        found.append(source)
    if entry.section == "knowledge":
        found += _NAMED.findall(entry.content[:MAX_WORDS])[:MAX_NAMED]
    return list(dict.fromkeys(found))


def by_file(stale: str) -> bool:
    """Whether the reason why an entry is stale is one that a file can take back."""
    return stale.endswith((CHANGED, GONE, UNSAID))


class CitedFiles:
    """The files below a project's root, read again only if they changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[files.Stamp, str, tuple[str, ...]]] = {}

    def marks(self, entries: Iterable[Entry]) -> list[Mark]:
        """What has to be written down of these entries; nothing for those that are as marked."""
        found = []
        for entry in entries:
            hashes = self._hashes(entry)
            stale = entry.stale
            if not stale or by_file(stale):
                stale = self.problem(entry.files)
            if stale != entry.stale or hashes is not None:
                found.append(Mark(entry.id, stale, hashes))
        return found

    def problem(self, hashes: Mapping[str, str]) -> str:
        """Why what has these hashes is stale, "" if all is as it was."""
        for name, known in hashes.items():
            path, line = _parts(name)
            now = self._read(path)
            if now is None:
                return f"{path} {GONE}"
            if line is None and now[0] != known:
                return f"{path} {CHANGED}"
            if line is not None and known not in now[1]:
                return f"{path} {UNSAID}"
        return ""

    def _hashes(self, entry: Entry) -> dict[str, str] | None:
        """The hashes of what an entry cites, with those it has; None if nothing is to be added."""
        found = dict(entry.files)
        for name in cited(entry):
            path, line = _parts(name)
            by_line = line is not None and Path(path).name in RULE_FILES
            key = name if by_line else path
            now = self._read(path) if key not in found else None
            if now is not None and not by_line:
                found[key] = now[0]
            elif now is not None and line is not None and 0 < line <= len(now[1]):
                found[key] = now[1][line - 1]
        return found if found.keys() != entry.files.keys() else None

    def _read(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """The hash of a file and those of its lines, in their order if it is a rule file; None if
        it is not there, or not ours."""
        path = self._root / name
        stamp = files.stamp(path)
        if stamp is None:
            return None
        known = self._known.get(name)
        if known is None or known[0] != stamp:
            try:
                if not path.resolve().is_relative_to(self._root.resolve()):
                    return None
                content, stamp = files.read_file(path, limit=MAX_BYTES)
            except OSError:
                return None
            by_line = path.name in RULE_FILES
            lines = (line.strip() for line in content.splitlines()) if by_line else ()
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[name] = (stamp, _hash(content), tuple(map(_hash, lines)))
        return known[1], known[2]


def _parts(name: str) -> tuple[str, int | None]:
    path, colon, line = name.rpartition(":")
    return (path, int(line)) if colon and line.isdecimal() else (name, None)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
