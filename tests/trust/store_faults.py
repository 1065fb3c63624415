"""Faults done to the files of the bank, in this process."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import time
from pathlib import Path

from faulty import Row, attempt, fill, mounted, project_in
from kills import one
from live import bank_of, kept

from pmem.store import files
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project


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
