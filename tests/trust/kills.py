"""Kill -9 at every point where the store touches the disk: before it, and in the midst of a write.

`kills.py ROOT`: runs one small session of the store in a child, again and again; the n-th time it
dies at the n-th point. Prints one JSON line for each run. The child tells what it was promised
(`flush` said True, a step was logged); the parent looks at what is there, and goes on from it.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from live import bank_of, kept, logged

from pmem.core.bank import RecordAttempt
from pmem.core.step import Step
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project
from pmem.store.session_log import SessionLog, new_session_id

#: What changes something on the disk, by its name in `os`.
POINTS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "chmod", "fchmod", "ftruncate")
ROUNDS = 3
MOST = 10

_write = os.write


class Countdown:
    """Ends this process at the n-th point; a write is torn in its middle every other time."""

    def __init__(self, at: int) -> None:
        self.left = at
        for name in POINTS:
            setattr(os, name, self._counted(name, getattr(os, name)))
        fdopen = os.fdopen
        os.fdopen = lambda fd, mode="r", *a, **k: (  # type: ignore[assignment]
            _Torn(fdopen(fd, mode, *a, **k), self) if "w" in mode else fdopen(fd, mode, *a, **k)
        )

    def point(self) -> bool:
        """One point; True if the process is to end in the middle of it."""
        self.left -= 1
        if self.left == 0:
            die()
        self.left -= 1
        return self.left == 0

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.point():
                try:
                    torn = args[1][: len(args[1]) // 2] if name == "write" else None
                    real(args[0], torn) if torn is not None else real(*args, **kwargs)
                finally:
                    die()
            return real(*args, **kwargs)

        return call


class _Torn:
    """A file opened for writing whose writes are points as well."""

    def __init__(self, file: Any, countdown: Countdown) -> None:
        self._file, self._countdown = file, countdown

    def __enter__(self) -> _Torn:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> int:
        if self._countdown.point():
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            die()
        return int(self._file.write(data))

    def flush(self) -> None:
        self._file.flush()


def die() -> None:
    """As `kill -9` does it."""
    os.kill(os.getpid(), signal.SIGKILL)


def session(root: Path, told: int, start: int) -> None:
    """A few attempts and steps, each flushed; tells down the pipe what is promised by then."""
    project = find_project(root, os.environ)
    log = SessionLog(project.state, new_session_id(2e9, "kill", project.state), {"agent": "kill"})
    bank_file = BankFile(project, max_entries=MOST)
    bank_file.patient = True  # as in a session
    for n in range(start, start + ROUNDS * 6):
        command = f"make target{n}"
        log.step(Step(n + 1, "command", command, "done\n", exit_code=0))
        _write(told, f"step {command}\n".encode())
        bank_file.apply([RecordAttempt(command, "", False, 0, "", "done", n + 1, "kill")])
        if n % 6 == 5 and bank_file.flush(5.0):
            promised = " ".join(str(k) for k in range(n - 5, n + 1))
            _write(told, f"bank {promised}\n".encode())
    bank_file.close()
    log.close(bank_file.path)
    _write(told, b"end\n")


def one(root: Path, at: int) -> dict[str, Any]:
    """One run that dies at point `at`, and what came of it."""
    for path in (root, Path(os.environ["XDG_STATE_HOME"])):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            Countdown(at)
            session(root, write, 0)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or lines[-1:] == ["end"], lines
    steps = [line[5:] for line in lines if line.startswith("step ")]
    bank = [
        f"make target{n}" for line in lines if line.startswith("bank ") for n in line.split()[1:]
    ]
    project = find_project(root, os.environ)
    found, log = kept(project), logged(project)
    lost = [c for c in steps if c not in log] + [c for c in bank if not found.get(c)]
    recovered = _goes_on(root)
    return {"at": at, "killed": killed, "lost": lost, "recovered": recovered}


def _goes_on(root: Path) -> str:
    """What is wrong with a session that comes after, "" if nothing."""
    project = find_project(root, os.environ)
    before = set(bank_of(project).entries)
    bank_file = BankFile(project, max_entries=MOST)
    bank_file.apply([RecordAttempt("make after", "", False, 0, "", "", 1, "after")])
    if not bank_file.close():
        return bank_file.problem
    if bank_file.notes:
        return bank_file.notes[0]
    left = [p.name for p in root.rglob("*") if ".tmp" in p.name or ".new-" in p.name]
    left = [name for name in left if str(os.getpid()) not in name]
    if left:
        return f"left over: {left}"
    missing = before - set(kept_ids(project))
    return f"gone: {missing}" if missing else ""


def kept_ids(project: Any) -> set[str]:
    """The ids in bank and archive."""
    from pmem.store import jsonl

    archived = {str(line["id"]) for line in jsonl.Lines(project.archive)}
    return archived | set(bank_of(project).entries)
