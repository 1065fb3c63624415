"""Whether the user lets a model be asked in a project: once, for one model at one endpoint.

Noted in the user's own state directory, so that no repository can bring a yes with it.
"""

from __future__ import annotations

import contextlib

from pmem.store import files
from pmem.store.project import Project

#: In the project's state directory: the models that may be asked, one a line.
CONSENT = "consent"


def consented(project: Project, model: str, base_url: str = "") -> bool:
    """Whether the user said yes to this model here. One that leaves nothing needs no yes."""
    if model.startswith("scripted:"):
        return True
    try:
        content, _ = files.read_file(project.state / CONSENT)
    except OSError:
        return False
    return _line(model, base_url) in content.decode("utf-8", "replace").splitlines()


def declined(project: Project, model: str, base_url: str = "") -> bool:
    """Whether the user was asked and said no: then nobody asks again."""
    try:
        content, _ = files.read_file(project.state / CONSENT)
    except OSError:
        return False
    return f"no {_line(model, base_url)}" in content.decode("utf-8", "replace").splitlines()


def consent(project: Project, model: str, base_url: str = "") -> None:
    """The user says yes. Raises OSError if it cannot be noted."""
    _note(project, _line(model, base_url), f"no {_line(model, base_url)}")


def decline(project: Project, model: str, base_url: str = "") -> None:
    """The user says no to this model. Raises OSError if it cannot be noted."""
    _note(project, f"no {_line(model, base_url)}", _line(model, base_url))


def refuse(project: Project) -> None:
    """The user takes every yes back, and every no."""
    (project.state / CONSENT).unlink(missing_ok=True)


def _note(project: Project, line: str, instead_of: str) -> None:
    lines = [line]
    with contextlib.suppress(OSError):
        content, _ = files.read_file(project.state / CONSENT)
        lines += content.decode("utf-8", "replace").splitlines()
    kept = [one for one in dict.fromkeys(lines) if one != instead_of]
    files.write_file(project.state / CONSENT, ("\n".join(kept) + "\n").encode())


def _line(model: str, base_url: str) -> str:
    return f"{model} {base_url}".replace("\n", " ").strip()
