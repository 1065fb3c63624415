"""The sessions of a project: which there are, which are alive, and which may go."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmem.core import json_text
from pmem.store.project import Project
from pmem.store.session_log import STEPS

_ID = re.compile(r"(\d{8}-\d{6})-(.+)")
#: How much of a steps file is looked at for its header, and for its last step, in bytes.
_HEAD = 1 << 17
_TAILS = (1 << 16, 1 << 20)
#: A directory without a log is one whose session has not begun yet, for so many seconds.
_BEGINNING = 3600.0


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as a list shows it.

    `started` and `last` (the last thing recorded) are in Unix seconds, `steps` is the number of
    its last step, `size` is in bytes; `live` says that it is still running.
    """

    id: str
    path: Path
    agent: str
    task: str
    started: float
    last: float
    steps: int
    size: int
    live: bool
    header: Mapping[str, Any]


def list_sessions(project: Project) -> list[SessionInfo]:
    """The project's sessions, newest first, without reading their steps."""
    found = []
    for path in _directories(project.state):
        with contextlib.suppress(FileNotFoundError):  # pruned this very moment
            found.append(session_info(path))
    return sorted(found, key=lambda s: (s.started, s.id), reverse=True)


def of_session(project: Project, id: str) -> Project:
    """The project with a bank that one session has for itself, beside its log."""
    own = project.state / id
    return project._replace(dir=own / "bank", state=own)


def alone(project: Project, but: str) -> bool:
    """Whether no session of the project runs beside the one named."""
    return not any(s.live and s.header for s in list_sessions(project) if s.id != but)


def session_info(path: Path) -> SessionInfo:
    """What a session's directory tells at a glance. Raises FileNotFoundError if it is gone."""
    info = path.stat()
    header: dict[str, Any] = {}
    steps, last, live = 0, info.st_mtime, time.time() - info.st_mtime < _BEGINNING
    with contextlib.suppress(OSError):
        fd = os.open(path / STEPS, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            about = os.fstat(fd)
            last = about.st_mtime
            header = _first(os.pread(fd, _HEAD, 0))
            steps = _last_step(fd, about.st_size)
            live = _locked(fd, header)
        finally:
            os.close(fd)
    match = _ID.fullmatch(path.name)
    agent = header.get("agent") or (match[2] if match else "")
    started = header.get("started")
    return SessionInfo(
        id=path.name,
        path=path,
        agent=str(agent),
        task=str(header.get("task") or ""),
        started=float(started) if isinstance(started, (int, float)) else _started(path.name, last),
        last=last,
        steps=steps,
        size=_size(path),
        live=live,
        header=header,
    )


def prune(
    project: Project, *, keep_days: float, keep_mb: float, now: float | None = None
) -> list[str]:
    """Remove logs of ended sessions that are older than `keep_days`, and then the oldest ones
    while all of the project's logs are larger than `keep_mb`; 0 is no limit.

    `now` is in Unix seconds. A running session is never touched. Returns the ids removed.
    """
    import shutil

    now = time.time() if now is None else now
    sessions = list_sessions(project)
    total = sum(s.size for s in sessions)
    removed = []
    for session in reversed(sessions):
        old = keep_days > 0 and now - session.last > keep_days * 86400
        too_much = keep_mb > 0 and total > keep_mb * 1_000_000
        if session.live or not (old or too_much):
            continue
        shutil.rmtree(session.path, ignore_errors=True)
        total -= session.size
        removed.append(session.id)
    return removed


def _directories(state: Path) -> list[Path]:
    try:
        with os.scandir(state) as entries:
            return [
                state / e.name
                for e in entries
                if _ID.fullmatch(e.name) and e.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def _first(head: bytes) -> dict[str, Any]:
    """The header line, {} if there is none."""
    record = _record(head.partition(b"\n")[0])
    return record if "step" not in record else {}


def _last_step(fd: int, size: int) -> int:
    """The number of the last whole step, 0 if there is none."""
    for much in _TAILS:
        for line in reversed(os.pread(fd, much, max(0, size - much)).split(b"\n")):
            number = _record(line).get("step")
            if isinstance(number, int):
                return number
    return 0


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json_text.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _locked(fd: int, header: Mapping[str, Any]) -> bool:
    """Whether the session that writes this file still runs."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno == errno.EINTR:
            return True
        return _alive(header.get("pid"))  # no locks on this file system
    return False


def _alive(pid: Any) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _started(id: str, default: float) -> float:
    try:
        return time.mktime(time.strptime(id[:15], "%Y%m%d-%H%M%S"))
    except (ValueError, OverflowError):
        return default


def _size(path: Path) -> int:
    total = 0
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                total += entry.stat(follow_symlinks=False).st_size
    return total
