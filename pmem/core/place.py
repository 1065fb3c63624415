"""A directory as the bank writes it."""

from __future__ import annotations

import posixpath


def place(cwd: str, project: str) -> str:
    """A directory relative to the project, "" for its root; elsewhere as it is.

    >>> place("/home/me/app/api", "/home/me/app")
    'api'
    """
    if not cwd or not project or cwd == project:
        return ""
    if cwd.startswith(project.rstrip("/") + "/"):
        return posixpath.relpath(cwd, project)
    return cwd
