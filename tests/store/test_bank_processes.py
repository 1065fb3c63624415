"""The bank's file under several real processes, an editor, a kill and a full disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pmem.store.bank_file import BankFile
from pmem.store.bank_toml import loads
from pmem.store.project import Project

WRITER = Path(__file__).with_name("writer.py")


def start(project: Project, name: str, count: int, commands: int) -> subprocess.Popen[str]:
    """A writer that has opened the bank and waits for `go`."""
    writer = subprocess.Popen(
        [sys.executable, str(WRITER), str(project.root), name, str(count), str(commands)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    return writer


def go(*writers: subprocess.Popen[str]) -> None:
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()


def ended_well(*writers: subprocess.Popen[str]) -> None:
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors


def attempts(project: Project) -> dict[str, int]:
    """Attempts by command, in the bank and its archive together."""
    counted: dict[str, int] = {}
    archived = project.archive.read_text().splitlines() if project.archive.exists() else []
    for line in archived:
        entry = json.loads(line)
        assert entry["reason"] and entry["time"] and entry["section"] == "procedural"
        counted[entry["command"]] = counted.get(entry["command"], 0) + entry["attempts"]
    for entry in loads(project.bank.read_text()).entries.values():
        counted[entry.command] = counted.get(entry.command, 0) + entry.attempts
    return counted


def expected(count: int, commands: int) -> dict[str, int]:
    counted: dict[str, int] = {}
    for name in ("one", "two"):
        for n in range(1, count + 1):
            command = f"make {name if n % 2 else 'both'}-{n % commands}"
            counted[command] = counted.get(command, 0) + 1
    return counted


def test_two_sessions_at_full_speed_lose_no_attempt(project: Project) -> None:
    writers = [start(project, name, 200, 30) for name in ("one", "two")]
    go(*writers)
    ended_well(*writers)
    assert attempts(project) == expected(200, 30)
    assert {p.name for p in project.dir.iterdir()} == {"bank.toml", "pmem.toml", ".gitignore"}


def test_what_does_not_fit_is_in_the_archive_and_nothing_twice(project: Project) -> None:
    writers = [start(project, name, 900, 701) for name in ("one", "two")]
    go(*writers)
    ended_well(*writers)
    assert attempts(project) == expected(900, 701)
    assert len(loads(project.bank.read_text()).entries) == 500
    assert project.archive.stat().st_mode & 0o777 == 0o600


def test_a_writer_killed_at_any_moment_leaves_a_bank_that_loads(project: Project) -> None:
    for round in range(12):
        writer = start(project, f"s{round}", 0, 200)
        go(writer)
        deadline = time.monotonic() + 10
        while not project.bank.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(0.02 + round * 0.007)
        writer.kill()
        writer.communicate()
        assert writer.returncode == -9
        before = loads(project.bank.read_text()).entries
        assert before
        bank_file = BankFile(project)
        assert bank_file.notes == []
        assert bank_file.bank.entries == before
    bank_file.apply([])
    bank_file._disk.dirty = True
    assert bank_file.close()
    assert not list(project.dir.glob(".bank.toml.*"))


FULL_DISK = """
import resource, sys, os, time
from pathlib import Path
from pmem.core.bank import SaveKnowledge
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project

bank_file = BankFile(find_project(Path(sys.argv[1]), os.environ))
bank_file.apply([SaveKnowledge("small", "x")])
assert bank_file.flush()
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
for n in range(20):
    bank_file.apply([SaveKnowledge(f"large-{n}", "y" * 1000)])
    bank_file.flush()
assert not bank_file.flush()
assert len(bank_file.bank.entries) == 21
assert len(bank_file.notes) == 1, bank_file.notes
assert bank_file.problem
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert bank_file.close()
print("fine")
"""


def test_a_disk_that_is_full_keeps_the_old_file_and_the_new_memory(project: Project) -> None:
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(project.root)],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ,
    )
    assert done.stdout == "fine\n", done.stderr
    assert len(loads(project.bank.read_text()).entries) == 21
    assert not list(project.dir.glob(".bank.toml.*"))
