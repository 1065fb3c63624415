"""Which files a proposed action is about to change, as far as its text tells."""

from __future__ import annotations

import posixpath
import re

from pmem.core.signature import parse
from pmem.core.step import Action

_EDIT = re.compile(r"^(?:edit|write|multi_?edit|notebookedit|create|str_replace|update)\s+(\S.*)$", re.I)
_PATCH = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.M)
_WRITERS = frozenset("rm rmdir unlink truncate shred tee mv cp install touch chmod chown".split())


def changed_paths(action: Action) -> list[str]:
    """Paths as written; [] where none is told."""
    if action.kind == "edit":
        return _edited(action.text)
    if action.kind != "command":
        return []
    found: list[str] = []
    for command in parse(action.text):
        found += [t for operator, t in command.redirects if operator.lstrip("012&").startswith(">")]
        words = [w for w in command.words[1:] if not w.startswith("-")]
        program = posixpath.basename(command.words[0]) if command.words else ""
        if program in ("cp", "install"):
            found += words[-1:]
        elif program in _WRITERS:
            found += words
        elif program in ("sed", "perl") and any(
            re.match(r"-[a-z]*i|--in-place", w) for w in command.words[1:]
        ):
            found += words[1:] or words
    return [path for path in found if path not in ("/dev/null", "&1", "&2")]


def _edited(text: str) -> list[str]:
    patched = [a or b for a, b in _PATCH.findall(text)]
    if patched:
        return [p.strip() for p in patched]
    first = text.split("\n", 1)[0].strip()
    named = _EDIT.match(first)
    return [named[1].strip() if named else first] if first else []
