"""What `pmem doctor` looks at beside the agents: this machine and this project."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pmem.store.project import Project

#: Errors of the session process younger than this are told (seconds).
RECENT = 7 * 86400


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `ok` is None where it could not be checked; `next` is what to do."""

    name: str
    ok: bool | None
    say: str
    next: str = ""


def machine(env: Mapping[str, str]) -> Iterator[Check]:
    """Python, the private directory for sockets, the state directory."""
    from pmem import __version__
    from pmem.session import run_dir
    from pmem.store.places import state_home

    python = ".".join(map(str, sys.version_info[:3]))
    yield Check("pmem", True, f"{__version__}, Python {python} ({sys.executable})")
    try:
        place = run_dir.make(env)
        try:
            run_dir.listen(place).close()
            length = len(os.fsencode(place / run_dir.SOCKET))
            yield Check("socket", True, f"{place.parent}, {length} of {run_dir.MAX_SOCKET_PATH}")
        finally:
            run_dir.remove(place)
    except OSError as error:
        yield Check("socket", False, str(error), "set XDG_RUNTIME_DIR to a short path of your own")
    state, remark = state_home(env)
    above = next(p for p in (state, *state.parents) if p.exists())
    writable = os.access(above, os.W_OK)
    yield Check("state", writable, remark or str(state), "" if writable else f"make {above} yours")


def project_checks(project: Project, env: Mapping[str, str]) -> Iterator[Check]:
    """The project's own directory, errors of its sessions, and what is attached to it."""
    from pmem.store.attached import records
    from pmem.store.git_files import tracks

    if project.read_only:
        yield Check("project", None, project.remark)
        return
    above = next(p for p in (project.dir, *project.dir.parents) if p.exists())
    said = str(project.dir) if project.dir.exists() else f"{project.dir}, made when it is needed"
    writable = os.access(above, os.W_OK)
    yield Check("project", writable, said, "" if writable else "name a place with --dir")
    for place, most in ((project.dir, 0o700), (project.bank, 0o600), (project.state, 0o700)):
        yield from private(place, most)
    if tracks(project.root, ".pmem/bank.toml"):
        yield Check("git", False, "git keeps .pmem/bank.toml", "git rm --cached -r .pmem")
    log = project.state / "errors.log"
    if log.exists() and time.time() - log.stat().st_mtime < RECENT:
        yield Check("errors", False, f"a session failed lately: {log}", "please report it")
    for note in records(env):
        if Path(note.root) == project.root:
            yield _attached(note.agent, Path(note.file))


def _attached(agent: str, file: Path) -> Check:
    from pmem.hook.line import attached_command

    again = f"pmem attach {agent} writes it anew"
    try:
        there = json.dumps(attached_command(agent), ensure_ascii=False)[1:-1] in file.read_text()
    except (OSError, UnicodeDecodeError):
        there = False
    name = f"attached: {agent}"
    if there:
        return Check(name, True, str(file))
    return Check(name, False, f"{file} does not name this pmem", again)


def private(path: Path, most: int) -> Iterator[Check]:
    """Whether others are kept out of a file or directory that is there, `most` its widest mode."""
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode & 0o777
        if mode & ~most:
            say = f"others may look into {path} (mode {mode:o})"
            yield Check("permissions", False, say, f"chmod {most:o} {path}")
