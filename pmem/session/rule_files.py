"""The rule files an agent is given: AGENTS.md, CLAUDE.md and their like; read again if changed."""

from __future__ import annotations

import os
from pathlib import Path

from pmem.store.cited import RULE_FILES

#: A larger file is no rule file; only its beginning is looked at (bytes).
MAX_BYTES = 256 * 1024


class RuleFiles:
    """The rule files between the project's root and `cwd`, as (path from the root, text)."""

    def __init__(self, root: Path, cwd: Path) -> None:
        self._root = root
        self._places = _places(root, cwd)
        self._seen: dict[Path, tuple[tuple[int, int], str]] = {}

    def read(self) -> list[tuple[str, str]]:
        """The files that exist now, the root's first. A link out of the project is not read."""
        files = []
        for place in self._places:
            for name in RULE_FILES:
                text = self._text(place / name)
                if text:
                    files.append((os.path.relpath(place / name, self._root), text))
        return files

    def _text(self, path: Path) -> str:
        try:
            found = path.stat()
            stamp = (found.st_mtime_ns, found.st_size)
            known = self._seen.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            if not path.resolve().is_relative_to(self._root.resolve()):
                return ""
            with path.open("rb") as file:
                text = file.read(MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""
        self._seen[path] = (stamp, text)
        return text


def _places(root: Path, cwd: Path) -> list[Path]:
    places = [root]
    if cwd != root and cwd.is_relative_to(root):
        below = cwd.relative_to(root).parts
        places += [root.joinpath(*below[: i + 1]) for i in range(len(below))]
    return places
