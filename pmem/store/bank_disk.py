"""BankDisk: bank.toml as this process knows it, and what reads and writes it.

It works on a `Job`, which holds all that it needs of memory: so a session has it done in a thread,
and no hook's answer waits for a disk.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pmem.core.bank import BankOp, Entry, MemoryBank
from pmem.store import archive, authors, bank_rescue, bank_toml, files, rival
from pmem.store.bank_past import Past
from pmem.store.evict import evict
from pmem.store.project import Project, ensure

NAME = "bank.toml"
#: An editor takes no lock; so often we begin again where it was faster.
TRIES = 20


@dataclass
class Job:
    """A piece of work on the file, and what came of it.

    `bank` is memory as it is when the work begins, and as it shall be when it is `done`; of it the
    file lacks `ops`, the archive `leaving`. `writes`: not only to read what others wrote;
    `patience` is for other writers, in seconds. `hand` tells whose hand may be behind what others
    wrote (it is asked after that was read), `patient` that we are a session.

    Afterwards: whether the file is `written`, whether others had `changed` it, sentences for the
    user, and the `error` that ended it.
    """

    bank: MemoryBank
    ops: list[BankOp]
    leaving: list[tuple[Entry, str]]
    cited: frozenset[str]
    writes: bool
    patience: float
    hand: Callable[[], str]
    patient: bool
    stamp: files.Stamp | None = None
    written: bool = False
    changed: bool = False
    notes: list[str] = field(default_factory=list)
    error: Exception | None = None
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    done: threading.Event = field(default_factory=threading.Event)


class BankDisk:
    """The file's side of a bank; for one job at a time.

    `seen` is the version that was read or written last, `broken` one that cannot be read, `dirty`
    says that the file has to be written though no operation waits. `place` tells one `.pmem` from
    the next. `vouched` and `max_archive` are as in BankFile.
    """

    def __init__(
        self, project: Project, *, max_entries: int, max_archive: int, vouched: bool
    ) -> None:
        self.project = project
        self.max_entries = max_entries
        self.max_archive = max_archive
        self.vouched = vouched
        self.seen: files.Stamp | None = None
        self.broken: files.Stamp | None = None
        self.place: tuple[int, int] | None = None
        self.dirty = False
        self._past = Past()
        self._blocks: bank_toml.Blocks = {}
        self._rendered: bank_toml.Rendered = {}

    @property
    def path(self) -> str:
        """Where bank.toml lies, whether it exists yet or not."""
        return os.fspath(self.project.bank)

    def do(self, job: Job) -> None:
        """Carry a job out. Never raises: what went wrong is in `job.error`."""
        try:
            if job.writes:
                self._write(job)
            else:
                with files.opened_dir(self.project.dir) as dir_fd:
                    self._catch_up(job, dir_fd)
        except Exception as error:
            job.error = error
        finally:
            job.seconds = time.monotonic() - job.began
            job.done.set()

    def missing(self) -> bool:
        """Whether the file is gone that was there: `git clean` and its like take it away."""
        return self.seen is not None and files.stamp(self.project.bank) is None

    # -- reading ----------------------------------------------------------------------------

    def _catch_up(self, job: Job, dir_fd: int) -> None:
        """Take in what the file holds beyond what we knew.

        Raises BankError, NotAFile or OSError; the job's bank is as it was then.
        """
        place = bank_rescue.place(dir_fd)
        if files.stamp(NAME, dir_fd) in (None, self.seen):
            self.place = self.place or place
            return
        content, stamp = files.read_file(NAME, dir_fd)
        remarks: list[str] = []
        bank_toml.remember(self._blocks, self._rendered)
        fresh = bank_rescue.read(content, remarks, self._blocks)
        if rival.wrote(self.project.state, stamp):
            bank_toml.trust_layout(self._blocks, self._rendered)
        hand = job.hand()
        if hand:
            trusted = hand != "bank"
            self.dirty |= authors.disown(fresh, job.bank, self.project.state, trusted=trusted)
        restored, both = self._past.restore(fresh)
        self.dirty |= restored
        remarks += [f"{id} was changed by two hands; what the file says stays" for id in both]
        self._past.took(fresh)
        for op in job.ops:
            with contextlib.suppress(ValueError):
                fresh.apply(op)
        if self.place is not None and place != self.place:
            bank_rescue.take_over(fresh, job.bank)  # another session began it anew
            self.dirty = True
        self.seen, self.place, self.broken = stamp, place, None
        job.bank, job.changed = fresh, True
        job.leaving.clear()
        job.notes += [f"{self.path}: {remark}" for remark in remarks]

    # -- writing ----------------------------------------------------------------------------

    def _write(self, job: Job) -> None:
        ensure(self.project)
        with (
            files.opened_dir(self.project.dir) as dir_fd,
            files.locked(dir_fd, self.project.state / "lock", job.patience),
        ):
            files.discard_stale(dir_fd, NAME)
            for _ in range(TRIES):
                self._catch_up_or_put_aside(job, dir_fd)
                job.leaving += evict(job.bank, self.max_entries, job.cited)
                job.bank.revision = self._past.revision + 1
                data = bank_toml.dumps(job.bank, self._rendered).encode()
                new, stamp = files.prepare(dir_fd, NAME, data)
                if files.stamp(NAME, dir_fd) in (None, self.seen):
                    break
                files.discard(dir_fd, new)  # an editor, which takes no lock, was faster
            else:
                raise files.Busy("something keeps writing to it")
            try:
                self._before_it_is_seen(job, dir_fd, stamp)
                files.commit(dir_fd, new, NAME)
            except OSError:
                files.discard(dir_fd, new)
                raise
            self.seen, self.place = stamp, bank_rescue.place(dir_fd)
        self._past.took(job.bank)
        self.dirty = False
        job.written = True
        with contextlib.suppress(OSError):
            bank_rescue.keep_copy(self.project.state, data)

    def _before_it_is_seen(self, job: Job, dir_fd: int, stamp: files.Stamp) -> None:
        """What has to be on the disk before anybody can see this version. Raises OSError."""
        if self.vouched:
            authors.vouch(self.project.state, job.ops, job.bank)
        if job.leaving:
            archive.append(dir_fd, job.leaving, max_bytes=self.max_archive)
            job.leaving.clear()
        if job.bank.schema is not None and job.bank.schema < bank_toml.SCHEMA:
            job.notes.append(bank_rescue.keep_older(dir_fd, NAME, job.bank.schema))
            job.bank.schema = None
        if job.patient:
            rival.tell(self.project.state, stamp, self.seen)

    def _catch_up_or_put_aside(self, job: Job, dir_fd: int) -> None:
        try:
            self._catch_up(job, dir_fd)
        except bank_toml.NewerSchema:
            raise
        except (bank_toml.BankError, files.NotAFile) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            aside = bank_rescue.put_aside(dir_fd, NAME)
            self.seen = self.broken = None
            job.notes.append(
                f"{self.path} could not be read ({why}); it is kept as {aside},"
                f" and the last good bank ({len(job.bank.entries)} entries) is used"
            )
