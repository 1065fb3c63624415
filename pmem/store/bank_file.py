"""BankFile: the bank in memory and in bank.toml, shared with other sessions and with editors.

Memory answers at once. Operations are queued, and carried out again, under a lock, on what the
file holds by the time it is written: so nothing that another session or a person wrote is lost.
Whatever goes wrong with the file, the session keeps its memory and says so once.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterable

from pmem.core.bank import MAX_ENTRIES, BankOp, Entry, MemoryBank
from pmem.store import archive, bank_rescue, bank_toml, files, rival, trust
from pmem.store.bank_disk import BankDisk, Job
from pmem.store.evict import evict
from pmem.store.project import ForeignDirectory, Project
from pmem.store.rival import Behind
from pmem.store.tidy import tidy_op

#: Seconds between two writes, and after one that failed.
INTERVAL = 1.0
RETRY = 5.0
#: What another session wrote is read so much later, more or less: not by all at one moment.
BEHIND = 0.5
#: Of its time a session spends at most this share with reading and writing; others work as well.
SHARE = 0.01
#: Seconds to wait for another writer: none while the session runs, for it comes back soon.
PATIENCE = 0.0
COME_BACK = 0.2
LAST_PATIENCE = 5.0
#: What a person wrote is read before the next answer, for which a piece of work of our own is
#: waited for so many seconds.
STAND_BY = 0.2

#: What is said while the file cannot be written; at the end it is true no more.
KEPT = "what is new is kept in memory, and tried again"
#: Operations kept for a file that cannot be written; beyond these memory is merged whole.
MAX_QUEUE = 5000
#: Notes for the user; of more, the end of the session tells none.
MAX_NOTES = 100


class BankFile:
    """A project's bank. `bank` may be another object after `refresh`, `tend` and `flush`.

    `notes` are sentences for the user, each said once; `problem` is why the file is not up to
    date ("" if it is), `unread` why `bank` is not what the file says by now; the session adds to
    `cited` the ids that reminders cite, and says with `at_work` whose hand may be behind what
    others write. `aside` does a piece of work elsewhere, as in a thread; without it `tend` returns
    when all is done. `vouched` says that what is the user's in our own operations is so indeed;
    `max_archive` is in bytes, 0: without a limit. `strange` are the entries of a bank that was not
    made here.
    """

    def __init__(
        self,
        project: Project,
        *,
        max_entries: int = MAX_ENTRIES,
        max_archive: int = archive.MAX_BYTES,
        vouched: bool = True,
    ) -> None:
        self.project = project
        self.max_entries = max_entries
        self.strange: frozenset[str] = frozenset()
        self.at_work: Callable[[], str] = str
        self.aside: Callable[[Callable[[], None]], None] | None = None
        self.patient = False
        self.bank = MemoryBank()
        self.notes: list[str] = []
        self.problem = ""
        self.unread = ""
        self.cited: set[str] = set()
        self._queue: list[BankOp] = []
        self._leaving: list[tuple[Entry, str]] = []
        self._disk = BankDisk(
            project, max_entries=max_entries, max_archive=max_archive, vouched=vouched
        )
        self._job: Job | None = None
        self._behind: Behind | None = None
        self._hand = ""
        self._merges = False
        self._not_before = 0.0
        if not project.read_only:
            self._open()

    @property
    def path(self) -> str:
        """Where bank.toml lies, whether it exists yet or not."""
        return self._disk.path

    def apply(self, ops: Iterable[BankOp]) -> list[str]:
        """Carry out operations in memory now, in the file later.

        Returns a sentence for each that could not be carried out (an id without a letter).
        """
        refused = []
        for given in ops:
            op = tidy_op(given)
            try:
                self.bank.apply(op)
            except ValueError as error:
                refused.append(str(error))
                continue
            self._queue.append(op)
        self._stay_bounded()
        return refused

    def refresh(self) -> bool:
        """Read the file again if somebody else changed it; True if it was. Costs a stat if not.

        In a session (`patient`) what another one wrote is left to `tend`.
        """
        return self._look(self.patient)

    def _look(self, patient: bool) -> bool:
        if self.project.read_only:
            return False
        self._hand = rival.stronger(self._hand, self.at_work())
        changed = self.collect()
        stamp = files.stamp(self.project.bank)
        if stamp is None or stamp == self._disk.seen:
            if self._job is None:
                self.unread, self._behind, self._hand = "", None, ""
            return changed
        if (patient and self._may_wait(stamp)) or not self._settled(STAND_BY):
            return changed
        if stamp in (self._disk.seen, self._disk.broken):
            return changed
        return self._now(self._begin(writes=False, stamp=stamp)).changed or changed

    def _may_wait(self, stamp: files.Stamp) -> bool:
        """Whether this version is another session's, and reading it can be left to `tend`."""
        if self._behind is None or self._behind.stamp != stamp:
            if not rival.wrote(self.project.state, stamp):
                return False
            until = time.monotonic() + BEHIND * (0.5 + random.random())
            self._behind = Behind(stamp, self._behind.until if self._behind else until)
        return True

    def wait(self, now: float) -> float | None:
        """Seconds until `tend` should be called, None if there is nothing to do.

        `now` is a time of the monotonic clock.
        """
        if self._job is not None:
            return None
        times = [self._not_before] if self._pending() else []
        if self._behind is not None:
            times.append(max(self._behind.until, self._not_before))
        return max(0.0, min(times) - now) if times else None

    def due(self, now: float) -> bool:
        """Whether `tend` should be called now."""
        return self.wait(now) == 0.0

    def tend(self) -> None:
        """Do what is due: read what another session wrote, write what is ours."""
        if self._job is not None:
            return
        stamp = files.stamp(self.project.bank)
        writes = self._pending() and time.monotonic() >= self._not_before
        if not writes and stamp in (None, self._disk.seen, self._disk.broken):
            self._behind = None
            return
        job = self._begin(writes=writes, stamp=stamp)
        if self.aside is None:
            self._now(job)
        else:
            self.aside(lambda: self._disk.do(job))

    def collect(self) -> bool:
        """Take in what was done aside, if it is; True if somebody else had changed the file."""
        job = self._job
        return job is not None and job.done.is_set() and self._finished(job).changed

    def flush(self, patience: float = PATIENCE) -> bool:
        """Bring the file up to date; True if it is. `patience` is for other writers, in seconds.

        Never raises for what is wrong with the file: see `problem` and `notes`.
        """
        if not self._settled(patience or STAND_BY):
            self.problem = "the disk does not answer"
            return False
        if self.project.read_only or not self._pending():
            return not self.problem
        return self._now(self._begin(writes=True, patience=patience)).written

    def close(self) -> bool:
        """Flush for the last time, waiting longer for others; True if the file is up to date."""
        idle = self._settled(LAST_PATIENCE)
        self._look(patient=False)  # an editor's older copy may lack what was written already
        if (idle and not self._pending()) or self.flush(LAST_PATIENCE):
            return True
        self.notes = [note for note in self.notes if KEPT not in note]
        self._say(f"the last changes are not in {self.path}: {self.problem}")
        return False

    # -- work on the file -------------------------------------------------------------------

    def _begin(
        self, *, writes: bool, patience: float = PATIENCE, stamp: files.Stamp | None = None
    ) -> Job:
        """Hand over what the file lacks; memory goes on from where it is."""
        if self._merges:
            self._disk.place = (-1, 0)  # whatever the file holds then, ours is put into it
            self._merges = False
        self._hand = rival.stronger(self._hand, self.at_work())
        self._job = Job(
            bank=self.bank.copy(),
            ops=self._queue,
            leaving=self._leaving,
            cited=frozenset(self.cited),
            writes=writes,
            patience=patience,
            hand=lambda: self._hand,
            patient=self.patient,
            stamp=stamp,
        )
        self._queue, self._leaving = [], []
        return self._job

    def _now(self, job: Job) -> Job:
        self._disk.do(job)
        return self._finished(job)

    def _settled(self, patience: float) -> bool:
        """Whether nothing is done aside any more, within so many seconds."""
        if self._job is not None and self._job.done.wait(patience):
            self._finished(self._job)
        return self._job is None

    def _finished(self, job: Job) -> Job:
        """Memory as the work left it, and what was done in memory meanwhile."""
        self._job = None
        since = self._queue
        self._queue = since if job.written else job.ops + since
        self._leaving = job.leaving + self._leaving
        self.bank = job.bank
        for op in since:
            with contextlib.suppress(ValueError):
                self.bank.apply(op)
        self._stay_bounded()
        for note in job.notes:
            self._say(note)
        if files.stamp(self.project.bank) == self._disk.seen:
            self._behind, self._hand = None, ""
        if job.changed:
            self.unread = ""
        rest = min(job.seconds / SHARE, RETRY)
        self._not_before = max(self._not_before, job.began + max(rest, INTERVAL * job.writes))
        if job.writes:
            self._wrote(job)
        elif job.error is not None:
            self._unreadable(job)
        return job

    def _wrote(self, job: Job) -> None:
        match job.error:
            case None:
                self.problem = ""
            case files.Busy():
                self.problem = str(job.error)
                self._not_before = job.began + COME_BACK * (0.5 + random.random())
            case OSError() | ForeignDirectory() | bank_toml.NewerSchema():
                self._not_before = job.began + RETRY
                self._fail(job.error)
            case _:
                self._not_before = job.began + RETRY
                raise job.error

    def _unreadable(self, job: Job) -> None:
        match job.error:
            case bank_toml.NewerSchema():
                self._disk.broken = job.stamp
                self._fail(job.error)
                self.unread = self.problem
            case bank_toml.BankError() | files.NotAFile() as error:
                self._disk.broken, self._disk.dirty = job.stamp, True  # the next flush mends it
                self.unread = (error.strerror if isinstance(error, OSError) else "") or str(error)
            case OSError():
                pass  # removed this very moment; `flush` sees to it
            case Exception():
                raise job.error

    def _pending(self) -> bool:
        waits = self._queue or self._leaving or self._disk.dirty
        return bool(waits) or self._disk.missing()

    def _open(self) -> None:
        job = self._begin(writes=False)
        self._disk.do(job)
        error, job.error = job.error, None
        self._finished(job)
        self._not_before = 0.0
        match error:
            case None | FileNotFoundError():
                pass
            case bank_toml.NewerSchema():
                self._fail(error)
                self.unread = self.problem
            case bank_toml.BankError() | files.NotAFile():
                self.bank = bank_rescue.last_good(self.project.state)
                self._disk.dirty = True
                self.flush()
            case OSError():
                self._fail(error)
                self.unread = self.problem
            case _:
                raise error
        if self.bank.entries and not trust.is_ours(self.project):
            self.strange = frozenset(self.bank.entries)
            self._say(
                f"{self.path} was not made here: what its entries say is only quoted, and they"
                " hold nothing, until you have read it: pmem trust"
            )

    # -- bounds and notes -------------------------------------------------------------------

    def _stay_bounded(self) -> None:
        """However long nothing can be written, memory does not grow without end."""
        if self.project.read_only:
            self._queue.clear()
        elif len(self._queue) > MAX_QUEUE:
            del self._queue[: -MAX_QUEUE // 2]
            self._merges = True
        if self._job is None and len(self.bank.entries) > 2 * self.max_entries:
            self._leaving += evict(self.bank, self.max_entries, self.cited)
            if self.project.read_only:
                self._leaving.clear()
        del self._leaving[:-MAX_QUEUE]
        if len(self.cited) > 2 * self.max_entries:
            self.cited.intersection_update(self.bank.entries)

    def _fail(self, error: Exception) -> None:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        self.problem = reason
        kept = KEPT
        if isinstance(error, bank_toml.NewerSchema):
            kept = "the file was not touched; upgrade pmem, or use another place with --dir"
        self._say(f"{self.path} cannot be used: {reason}; {kept}")

    def _say(self, note: str) -> None:
        if note and note not in self.notes and len(self.notes) < MAX_NOTES:
            self.notes.append(note)
