"""Faults done to a real session process while hooks come in."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from pathlib import Path

from faulty import Row, attempt, fill, missing, mounted, processor, project_in
from live import Live, bank_of, kept, logged

from pmem.store.bank_file import BankFile
from pmem.store.project import find_project


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


def a_thousand_hooks(runs: int, place: Path) -> Row:
    row = Row("1,000 hook calls at once, from 20 sides that wait for no answer", runs, "")
    latest = 0.0
    for run in range(runs):
        live = Live(project_in(place / f"h{run}"), max_entries=2000)
        told = [[f"make h{side}-{n}" for n in range(50)] for side in range(20)]
        sides = [threading.Thread(target=live.at_once, args=(commands,)) for commands in told]
        began = time.monotonic()
        for side in sides:
            side.start()
        for side in sides:
            side.join()
        latest = max(latest, time.monotonic() - began)
        live.end()
        if len(live.acknowledged) != 1000:
            row.wrong.append(f"{1000 - len(live.acknowledged)} were not answered")
        row.lost += missing(live)
    row.recovered = f"all are answered, the last {latest:.1f} s after the first was asked"
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
