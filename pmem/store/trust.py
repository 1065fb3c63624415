"""Which pmem.toml may name commands and endpoints.

Such a file can come with somebody else's repository. It is trusted if its directory was made
here by pmem and git does not bring the file, or if the user said so (`pmem trust`) of exactly
this content at exactly this place. What an agent writes into it while pmem watches has to be
trusted by the user as well. All of this is noted in the user's own state directory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pmem.store import files
from pmem.store.git_files import tracks

if TYPE_CHECKING:
    from pmem.store.project import Project

#: In the project's state directory: the directory pmem made, and the contents that were trusted.
MADE = "made-here"
TRUSTED = "trusted"
#: There while an agent's change of the file was not looked at.
DOUBTED = "changed-by-an-agent"


def is_trusted(project: Project, content: bytes) -> bool:
    """Whether a pmem.toml of this content may name commands and endpoints."""
    if _digest(project, content) in _lines(project, TRUSTED):
        return True
    return _made_here(project) and not (project.state / DOUBTED).exists()


def is_ours(project: Project) -> bool:
    """Whether the directory was made here, or its pmem.toml is trusted as it stands."""
    try:
        content, _ = files.read_file(project.settings)
    except OSError:
        return True  # nothing of it is used then
    return _digest(project, content) in _lines(project, TRUSTED) or _made_here(project)


def trust(project: Project) -> None:
    """Trust the project's pmem.toml as it stands. Raises OSError if there is none."""
    content, _ = files.read_file(project.settings)
    lines = [*_lines(project, TRUSTED), _digest(project, content)]
    _write(project, TRUSTED, lines[-100:])
    (project.state / DOUBTED).unlink(missing_ok=True)


def doubted_after(project: Project) -> Callable[[str], None]:
    """A look at the file, to be taken before and after each step with `Hands.at_work`: once it
    has changed under an agent's hand it is no longer trusted for having been made here."""
    known = _signature(project)

    def look(at_work: str) -> None:
        nonlocal known
        now = _signature(project)
        if now != known:
            was, known = known, now
            if at_work and was is not None and now is not None:  # the first one is pmem's own
                with suppress(OSError):
                    _write(project, DOUBTED, ["while a step of an agent was under way"])

    return look


def _signature(project: Project) -> tuple[int, ...] | None:
    try:
        info = project.settings.lstat()
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def distrust(project: Project) -> None:
    """Forget that any pmem.toml of this project was trusted, also that it was made here."""
    for name in (MADE, TRUSTED):
        (project.state / name).unlink(missing_ok=True)


def made_here(project: Project) -> None:
    """Note that pmem itself has just made the project's directory."""
    _write(project, MADE, [_identity(project)])


def _made_here(project: Project) -> bool:
    try:
        if _identity(project) not in _lines(project, MADE):
            return False
    except OSError:
        return False
    for root in project.dir.parents:
        if files.is_there(root / ".git"):
            return not tracks(root, project.settings.relative_to(root).as_posix())
    return True


def _identity(project: Project) -> str:
    info = project.dir.lstat()
    return f"{info.st_ino} {os.fsencode(project.dir)!r}"


def _digest(project: Project, content: bytes) -> str:
    return hashlib.sha256(os.fsencode(project.settings) + b"\0" + content).hexdigest()


def _lines(project: Project, name: str) -> list[str]:
    try:
        content, _ = files.read_file(project.state / name)
    except OSError:
        return []
    return content.decode("utf-8", "replace").splitlines()


def _write(project: Project, name: str, lines: list[str]) -> None:
    text = "\n".join(dict.fromkeys(lines)) + "\n"
    files.write_file(project.state / name, text.encode())
