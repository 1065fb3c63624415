"""What a fault takes: a row of the table, a disk to fill or to close, a look at what is left."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from live import Live, kept, logged

from pmem.core.bank import RecordAttempt


class CannotBeTried(Exception):
    """The fault cannot be made on this machine; the message says why."""


@dataclass
class Row:
    """One line of the table. `lost` is what was acknowledged and is not there, `wrong` what else
    is not as it should be; both are empty where all is well."""

    fault: str
    runs: int
    recovered: str
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def attempt(command: str, n: int = 1) -> RecordAttempt:
    return RecordAttempt(command, "", False, 0, "", "done", n, "faults")


def project_in(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    return place


def missing(live: Live) -> list[str]:
    """What the session acknowledged and neither log nor bank has; both must have all of it."""
    found, log = kept(live.project), set(logged(live.project))
    return [c for c in live.acknowledged if c not in log or not found.get(c)]


@contextlib.contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, text=True
    )
    if done.returncode:
        raise CannotBeTried(f"a tmpfs cannot be mounted: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], capture_output=True)


def fill(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def processor(pid: int, seconds: float) -> float:
    """The share of one processor that a process takes over so many seconds."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds
