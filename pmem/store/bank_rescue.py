"""What saves a bank whose file is broken, gone, or begun anew by another session."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from pmem.core.bank import MemoryBank, free_id
from pmem.store import bank_toml, files
from pmem.store.project import GIT_IGNORE

#: In the project's state directory: the last bank that could be read.
COPY = "bank.toml.good"


def read(
    content: bytes,
    remarks: list[str] | None = None,
    known: bank_toml.Blocks | None = None,
) -> MemoryBank:
    """The bank in a file's bytes; otherwise as `bank_toml.loads`."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bank_toml.BankError(f"not UTF-8 at byte {error.start}") from None
    return bank_toml.loads(text, remarks, known)


def last_good(state: Path) -> MemoryBank:
    """The last good bank of a project, empty if there is none."""
    try:
        content, _ = files.read_file(state / COPY)
        return read(content)
    except (OSError, bank_toml.BankError):
        return MemoryBank()


def keep_copy(state: Path, data: bytes) -> None:
    """Keep a bank as the last good one. Raises OSError."""
    files.write_file(state / COPY, data, sync=False)


def place(dir_fd: int) -> tuple[int, int]:
    """What tells this `.pmem` from one that was made anew at the same path."""
    mark = files.stamp(GIT_IGNORE, dir_fd)
    return os.fstat(dir_fd).st_ino, mark.mtime_ns if mark else 0


def take_over(fresh: MemoryBank, ours: MemoryBank) -> None:
    """Put into a bank that was begun anew what ours holds beyond it."""
    for entry in ours.entries.values():
        same = fresh.attempt(entry.command, entry.cwd) if entry.command else fresh.get(entry.id)
        if same is not None and entry.attempts <= same.attempts:
            continue
        if same is not None:
            fresh.remove(same.id)
        fresh.put(replace(entry, id=free_id(entry.id, fresh.entries)))
    fresh.status = fresh.status or ours.status
    fresh.extra = {**ours.extra, **fresh.extra}


def keep_older(dir_fd: int, name: str, schema: int) -> str:
    """Keep a bank of an older layout beside the one that takes its place; a sentence that says so,
    "" if one is kept already. Raises OSError."""
    kept = f"{name}.schema-{schema}"
    if files.exists(kept, dir_fd) or not files.exists(name, dir_fd):
        return ""
    content, _ = files.read_file(name, dir_fd)
    new, _ = files.prepare(dir_fd, kept, content)
    files.commit(dir_fd, new, kept)
    return f"{name} had an older layout; as it was it is kept as {kept}"


def put_aside(dir_fd: int, name: str) -> str:
    """Rename a file that cannot be read; returns its new name."""
    base = aside = f"{name}.broken-{time.strftime('%Y%m%d-%H%M%S')}"
    n = 1
    while files.exists(aside, dir_fd):
        n += 1
        aside = f"{base}-{n}"
    os.rename(name, aside, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    return aside
