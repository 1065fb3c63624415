"""Faults done to the store and to real session processes, and what came of each.

Every function does its fault so many times in a directory of its own, and returns a `Row`. Runs in
a process of its own (`python faults.py NAME RUNS DIR`), since it forks, mounts and sets limits.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kills import one
from live import Live, bank_of, kept, logged

from pmem.core.bank import RecordAttempt
from pmem.store import files
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project


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


# -- the store -----------------------------------------------------------------------------------


def kill_at_every_point(runs: int, place: Path) -> Row:
    """`runs` bounds how many points are tried, spread over all; 0: every one."""
    row = Row(
        "`kill -9` at every write, fsync, rename, …; a write torn in its middle",
        0,
        "the next session goes on from the last bank; leftovers are removed",
    )
    at, step = 1, 1 if not runs else max(1, 200 // runs)
    while True:
        told = one(place / "root", at)
        if not told["killed"]:
            return row
        row.runs += 1
        row.lost += told["lost"]
        row.wrong += [told["recovered"]] if told["recovered"] else []
        at += step


def kill_a_session(runs: int, place: Path) -> Row:
    row = Row(
        "`kill -9` of the session process while hooks come in",
        runs,
        "every step is in the log; the bank lacks at most the last seconds, and is whole",
    )
    for run in range(runs):
        root = project_in(place / f"k{run}")
        live = Live(root)
        for n in range(20 + run):
            live.step(f"make a{n}")
        os.kill(live.pid, signal.SIGKILL)
        os.waitpid(live.pid, 0)
        log = logged(live.project)
        row.lost += [c for c in live.acknowledged if c not in log]
        after = Live(root)
        after.step("make after")
        after.end()
        row.lost += missing(after)
        row.wrong += [after.summary["note"]] if after.summary.get("note") else []
    return row


def full_disk(runs: int, place: Path) -> Row:
    row = Row(
        "a full disk (a tmpfs of 256 kB)",
        runs,
        "memory goes on in the process and says so once; written when there is room",
    )
    for run in range(runs):
        with mounted(place / f"disk{run}", "size=256k") as disk:
            bank_file = BankFile(find_project(project_in(disk / "project"), os.environ))
            bank_file.apply([attempt("make first")])
            assert bank_file.flush()
            before = bank_of(bank_file.project)
            filler = disk / "filler"
            fill(filler)
            for n in range(300):
                bank_file.apply([attempt(f"make b{n} {'x' * 900}", n)])
            if bank_file.flush():
                row.wrong.append("a full disk was not noticed")
            if bank_of(bank_file.project).entries != before.entries:
                row.wrong.append("the bank in the file changed")
            if len(bank_file.bank.entries) != 301 or len(bank_file.notes) != 1:
                row.wrong.append(f"{len(bank_file.bank.entries)} entries, {bank_file.notes}")
            filler.unlink()
            subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
            if not bank_file.close():
                row.wrong.append(bank_file.problem)
            found = kept(bank_file.project)
            row.lost += list(bank_file.bank.entries.keys() - bank_of(bank_file.project).entries)
            row.lost += [] if len(found) == 301 else [f"{301 - len(found)} attempts"]
            row.wrong += [p.name for p in bank_file.project.dir.iterdir() if ".tmp" in p.name]
    return row


def full_disk_under_a_session(runs: int, place: Path) -> Row:
    row = Row(
        "a full disk under the session's log",
        runs,
        "hooks are answered all along; the end line says that the log has gaps",
    )
    for run in range(runs):
        with mounted(place / f"disk{run}", "size=512k") as disk:
            env = {**os.environ, "XDG_STATE_HOME": str(project_in(disk / "state"))}
            live = Live(project_in(place / f"project{run}"), env)
            live.step("make before")
            fill(disk / "filler")
            answered = sum(live.step(f"make d{n}", "x" * 4000) for n in range(30))
            if answered != 30:
                row.wrong.append(f"{30 - answered} hooks were not answered")
            note = live.end().get("note", "")
            if "gaps" not in note:
                row.wrong.append(f"nothing was said: {note!r}")
            found = kept(live.project)
            row.lost += [c for c in live.acknowledged if not found.get(c)]
    return row


def read_only(runs: int, place: Path) -> Row:
    row = Row(
        "a read-only file system",
        runs,
        "said at the end; memory serves the session; nothing is written or broken",
    )
    for run in range(runs):
        with mounted(place / f"ro{run}", "size=1m") as disk:
            root = project_in(disk / "project")
            first = BankFile(find_project(root, os.environ))
            first.apply([attempt("make first")])
            assert first.close()
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            live = Live(root)
            answered = sum(live.step(f"make r{n}", "no rule", 2) for n in range(5))
            summary = live.end()
            if answered != 5 or summary["bank"] != "the bank is not saved":
                row.wrong.append(f"{answered} answered, {summary}")
            row.lost += [] if bank_of(live.project).entries else ["the bank"]
    return row


def no_locks(runs: int, place: Path) -> Row:
    row = Row(
        "`flock` fails (ENOLCK, as on some network file systems)",
        runs,
        "it goes on without",
    )
    real = fcntl.flock

    def refuse(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    fcntl.flock = refuse  # type: ignore[assignment]
    try:
        for run in range(runs):
            bank_file = BankFile(find_project(project_in(place / f"l{run}"), os.environ))
            for n in range(50):
                bank_file.apply([attempt(f"make l{n}", n)])
                bank_file.flush()
            row.wrong += [] if bank_file.close() else [bank_file.problem]
            found = kept(bank_file.project)
            row.lost += [f"make l{n}" for n in range(50) if not found.get(f"make l{n}")]
    finally:
        fcntl.flock = real
    return row


def lock_kept(runs: int, place: Path) -> Row:
    row = Row(
        "another process keeps the lock",
        runs,
        "goes on at once and comes back; waits 5 s at the end; all is there afterwards",
    )
    for run in range(runs):
        bank_file = BankFile(find_project(project_in(place / f"b{run}"), os.environ))
        bank_file.apply([attempt("make first")])
        assert bank_file.flush()
        with files.opened_dir(bank_file.project.dir) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX)
            bank_file.apply([attempt("make second")])
            if bank_file.flush():
                row.wrong.append("written under another's lock")
        row.wrong += [] if bank_file.close() else [bank_file.problem]
        found = kept(bank_file.project)
        row.lost += [c for c in ("make first", "make second") if not found.get(c)]
    return row


# -- the session process -------------------------------------------------------------------------


def clock_jumps(runs: int, place: Path) -> Row:
    row = Row(
        "the clock jumps: years back, years ahead, files of tomorrow",
        runs,
        "order is by step number; time-outs go by the monotonic clock",
    )
    real = time.time
    for run in range(runs):
        offset = 0.0
        time.time = lambda: real() + offset  # type: ignore[assignment]  # noqa: B023
        try:
            bank_file = BankFile(find_project(project_in(place / f"c{run}"), os.environ))
            for n, offset in enumerate((0.0, -4e8, 4e8, -1.6e9, 0.0)):
                bank_file.apply([attempt(f"make t{n}", n)])
                row.wrong += [] if bank_file.flush() else [bank_file.problem]
                stamp = max(0.0, real() + offset)
                os.utime(bank_file.project.bank, (stamp, stamp))
            row.wrong += [] if bank_file.close() else [bank_file.problem]
            found = kept(bank_file.project)
            row.lost += [f"make t{n}" for n in range(5) if found.get(f"make t{n}") != 1]
        finally:
            time.time = real
    return row


def one_side(live: Live, side: int) -> None:
    for n in range(63):
        live.step(f"make h{side}-{n}")


def a_thousand_hooks(runs: int, place: Path) -> Row:
    row = Row(
        "1,000 hook calls at once, from 16 sides",
        runs,
        "all are answered",
    )
    for run in range(runs):
        live = Live(project_in(place / f"h{run}"), max_entries=2000)
        sides = [threading.Thread(target=one_side, args=(live, side)) for side in range(16)]
        for side in sides:
            side.start()
        for side in sides:
            side.join()
        live.end()
        if len(live.acknowledged) != 16 * 63:
            row.wrong.append(f"{16 * 63 - len(live.acknowledged)} were not answered")
        row.lost += missing(live)
    return row


def huge_outputs(runs: int, place: Path) -> Row:
    row = Row(
        "an output of 100 MB in one hook, and ten of 20 MB",
        runs,
        "beyond 32 MB a request is dropped unanswered; the next one is served; memory falls back",
    )
    for run in range(runs):
        live = Live(project_in(place / f"o{run}"))
        live.step("make small")
        before = live.memory()
        live.tell(b'{"tool_name": "' + b"x" * 100_000_000 + b'"}')
        for n in range(10):
            live.step(f"make large{n}", "line of output\n" * 1_400_000)
        if not live.step("make after"):
            row.wrong.append("the next hook was not answered")
        grown = (live.memory() - before) / 1e6
        if grown > 400:
            row.wrong.append(f"memory grew by {grown:.0f} MB")
        live.end()
        row.lost += missing(live)
    return row


def no_descriptors(runs: int, place: Path) -> Row:
    row = Row(
        "no file descriptor is left in the session process",
        runs,
        "hooks wait or are silent; served again when there are some; the bank is written",
    )
    for run in range(runs):
        live = Live(project_in(place / f"f{run}"))
        live.step("make before")
        limits = resource.prlimit(live.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(live.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        refused = live.step("make meanwhile", seconds=0.5)
        busy = processor(live.pid, 0.5)
        if busy > 0.25:
            row.wrong.append(f"it spins: {busy:.2f} of a processor")
        resource.prlimit(live.pid, resource.RLIMIT_NOFILE, limits)
        if refused or not live.step("make after"):
            row.wrong.append("not served again" if not refused else "served without descriptors")
        live.end()
        row.lost += missing(live)
    return row


def stopped(runs: int, place: Path) -> Row:
    row = Row(
        "SIGSTOP of the session process for a second",
        runs,
        "hooks are silent after 0.5 s; what they told is taken in when it goes on",
    )
    for run in range(runs):
        live = Live(project_in(place / f"s{run}"))
        live.step("make before")
        os.kill(live.pid, signal.SIGSTOP)
        told = [f"make s{n}" for n in range(2)]
        answered = [live.step(command, seconds=0.5) for command in told]
        if any(answered):
            row.wrong.append("a stopped process answered")
        os.kill(live.pid, signal.SIGCONT)
        if not live.step("make after"):
            row.wrong.append("not served again")
        live.end()
        live.acknowledged += told
        row.lost += missing(live)
    return row


def the_directory_goes(runs: int, place: Path) -> Row:
    row = Row(
        "`.pmem/` is removed under a session (`git clean -fdx`)",
        runs,
        "written again, whole, from memory",
    )
    for run in range(runs):
        live = Live(project_in(place / f"g{run}"))
        for n in range(5):
            live.step(f"make g{n}")
        deadline = time.monotonic() + 20
        while len(kept(live.project)) < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        subprocess.run(["rm", "-rf", str(live.project.dir)], check=True)
        live.step("make after")
        live.end()
        row.lost += missing(live)
    return row


# -- what it takes -------------------------------------------------------------------------------


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


FAULTS: dict[str, Callable[[int, Path], Row]] = {
    fault.__name__: fault
    for fault in (
        *(kill_at_every_point, kill_a_session, full_disk, full_disk_under_a_session, read_only),
        *(no_locks, lock_kept, clock_jumps, a_thousand_hooks, huge_outputs, no_descriptors),
        *(stopped, the_directory_goes),
    )
}


def main() -> None:
    name, runs, place = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    try:
        print(json.dumps(asdict(FAULTS[name](runs, place))))
    except CannotBeTried as reason:
        print(json.dumps({"cannot": str(reason)}))


if __name__ == "__main__":
    main()
