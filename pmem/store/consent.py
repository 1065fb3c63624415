"""Whether the user lets a model be asked in a project: once, for one model at one endpoint.

Noted in the user's own state directory, so that no repository can bring a yes with it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from pmem.store import files
from pmem.store.project import Project

#: In the project's state directory: the models that may be asked, one a line.
CONSENT = "consent"
#: There as well: whether a model was offered for a key that was found.
OFFERED = "offered"
#: In the user's own state directory, if none is to be offered anywhere.
NEVER = "never-offer"


def consented(project: Project, model: str, base_url: str = "") -> bool:
    """Whether the user said yes to this model here. One that leaves nothing needs no yes."""
    if model.startswith("scripted:"):
        return True
    return _line(model, base_url) in _lines(project.state / CONSENT)


def declined(project: Project, model: str, base_url: str = "") -> bool:
    """Whether the user was asked and said no: then nobody asks again."""
    return f"no {_line(model, base_url)}" in _lines(project.state / CONSENT)


def consent(project: Project, model: str, base_url: str = "") -> None:
    """The user says yes. Raises OSError if it cannot be noted."""
    _note(project, _line(model, base_url), f"no {_line(model, base_url)}")


def decline(project: Project, model: str, base_url: str = "") -> None:
    """The user says no to this model. Raises OSError if it cannot be noted."""
    _note(project, f"no {_line(model, base_url)}", _line(model, base_url))


def refuse(project: Project) -> None:
    """The user takes every yes back, and every no."""
    (project.state / CONSENT).unlink(missing_ok=True)


class Offered:
    """What the user was told and asked of a key that was found, here and everywhere."""

    def __init__(self, project: Project, state_home: Path) -> None:
        self._here = project.state / OFFERED
        self._everywhere = state_home / NEVER

    def note(self, what: str) -> bool:
        """Note that the user is `told` or `asked` now; False if they were, said never, or if it
        cannot be noted: then nobody asks either."""
        if files.is_there(self._everywhere):
            return False
        lines = _lines(self._here)
        if what in lines or "asked" in lines:
            return False
        try:
            files.write_file(self._here, "".join(f"{one}\n" for one in (*lines, what)).encode())
        except OSError:
            return False
        return True

    def never(self) -> None:
        """Nobody is to ask in any project."""
        with contextlib.suppress(OSError):
            files.write_file(self._everywhere, b"never\n")

    def forget(self) -> None:
        """Ask again, here and everywhere."""
        self._here.unlink(missing_ok=True)
        self._everywhere.unlink(missing_ok=True)


def _lines(path: Path) -> list[str]:
    try:
        content, _ = files.read_file(path)
    except OSError:
        return []
    return content.decode("utf-8", "replace").splitlines()


def _note(project: Project, line: str, instead_of: str) -> None:
    lines = [line, *_lines(project.state / CONSENT)]
    kept = [one for one in dict.fromkeys(lines) if one != instead_of]
    files.write_file(project.state / CONSENT, ("\n".join(kept) + "\n").encode())


def _line(model: str, base_url: str) -> str:
    return f"{model} {base_url}".replace("\n", " ").strip()
