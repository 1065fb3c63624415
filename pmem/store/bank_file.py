"""BankFile: the bank in memory and in bank.toml, shared with other sessions and with editors.

Memory answers at once. Operations are queued, and carried out again, under a lock, on what the
file holds by the time it is written: so nothing that another session or a person wrote is lost.
Whatever goes wrong with the file, the session keeps its memory and says so once.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterable

from pmem.core.bank import MAX_ENTRIES, BankOp, Entry, MemoryBank
from pmem.store import archive, authors, bank_rescue, bank_toml, files, rival, trust
from pmem.store.bank_past import Past
from pmem.store.evict import evict
from pmem.store.project import ForeignDirectory, Project, ensure
from pmem.store.rival import Behind
from pmem.store.tidy import tidy_op

#: Seconds between two writes, and after one that failed.
INTERVAL = 1.0
RETRY = 5.0
#: What another session wrote waits so long for a moment in which nobody waits for us, and is then
#: read before the next answer.
BEHIND = 0.5
#: Of its time a session spends at most this share with writing: meanwhile hooks wait.
SHARE = 0.005
#: Seconds to wait for another writer: none while the session runs, for it comes back soon.
PATIENCE = 0.0
COME_BACK = 0.2
LAST_PATIENCE = 5.0

NAME = "bank.toml"
#: What is said while the file cannot be written; at the end it is true no more.
KEPT = "what is new is kept in memory, and tried again"
#: Operations kept for a file that cannot be written; beyond these memory is merged whole.
MAX_QUEUE = 5000
#: Notes for the user; of more, the end of the session tells none.
MAX_NOTES = 100


class BankFile:
    """A project's bank. `bank` may be another object after `refresh` and `flush`.

    `notes` are sentences for the user, each said once; `problem` is why the file is not up to
    date ("" if it is), `unread` why `bank` is not what the file says by now; the session adds to
    `cited` the ids that reminders cite, and says with `at_work` whose hand may be behind what
    others write. `vouched` says that what is the user's in our own operations is so indeed;
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
        self.max_archive = max_archive
        self.vouched = vouched
        self.strange: frozenset[str] = frozenset()
        self.at_work: Callable[[], str] = str
        self.patient = False
        self.bank = MemoryBank()
        self.notes: list[str] = []
        self.problem = ""
        self.unread = ""
        self.cited: set[str] = set()
        self._queue: list[BankOp] = []
        self._past = Past()
        self._leaving: list[tuple[Entry, str]] = []
        self._blocks: bank_toml.Blocks = {}
        self._rendered: bank_toml.Rendered = {}
        self._seen: files.Stamp | None = None
        self._place: tuple[int, int] | None = None
        self._broken: files.Stamp | None = None
        self._behind: Behind | None = None
        self._dirty = False
        self._not_before = 0.0
        if not project.read_only:
            self._open()

    @property
    def path(self) -> str:
        """Where bank.toml lies, whether it exists yet or not."""
        return os.fspath(self.project.bank)

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
        """Read the file again if somebody else changed it; True if it was. Costs a stat if not."""
        if self.project.read_only:
            return False
        stamp = files.stamp(self.project.bank)
        if stamp is None or stamp == self._seen:
            self.unread, self._behind = "", None
            return False
        if stamp == self._broken or (self.patient and self._may_wait(stamp)):
            return False
        return self._read_again(stamp)

    def _may_wait(self, stamp: files.Stamp) -> bool:
        """Whether this version is another session's, and reading it can be left to `tend`."""
        behind = self._behind
        if behind is None or behind.stamp != stamp:
            if not rival.wrote(self.project.state, stamp):
                return False
            since = time.monotonic() if behind is None else behind.since
            behind = Behind(stamp, since, behind.hand if behind else "")
        self._behind = behind.seen_by(self.at_work())
        return time.monotonic() < behind.since + 2 * BEHIND

    def _read_again(self, stamp: files.Stamp) -> bool:
        try:
            with files.opened_dir(self.project.dir) as dir_fd:
                return self._catch_up(dir_fd)
        except bank_toml.NewerSchema as error:
            self._broken = stamp
            self._fail(error)
            self.unread = self.problem
        except (bank_toml.BankError, files.NotAFile) as error:
            self._broken, self._dirty = stamp, True  # the next flush puts it aside
            self.unread = (error.strerror if isinstance(error, OSError) else None) or str(error)
        except OSError:
            pass  # removed this very moment; `flush` sees to it
        return False

    def wait(self, now: float) -> float | None:
        """Seconds until `tend` should be called, None if there is nothing to do.

        `now` is a time of the monotonic clock.
        """
        times = [self._not_before] if self._pending() else []
        if self._behind is not None:
            times.append(self._behind.since + BEHIND)
        return max(0.0, min(times) - now) if times else None

    def due(self, now: float) -> bool:
        """Whether `tend` should be called now."""
        return self.wait(now) == 0.0

    def tend(self) -> None:
        """Do what is due: read what another session wrote, write what is ours."""
        now = time.monotonic()
        if self._behind is not None and now >= self._behind.since + BEHIND:
            stamp = files.stamp(self.project.bank)
            if stamp is not None and stamp not in (self._seen, self._broken):
                self._read_again(stamp)
            self._behind = None
        if now >= self._not_before:
            self.flush()

    def flush(self, patience: float = PATIENCE) -> bool:
        """Bring the file up to date; True if it is. `patience` is for other writers, in seconds.

        Never raises for what is wrong with the file: see `problem` and `notes`.
        """
        if self.project.read_only or not self._pending():
            return not self.problem
        began = time.monotonic()
        self._not_before = began + INTERVAL
        try:
            self._write(patience)
        except files.Busy as error:
            self.problem = str(error)
            self._not_before = began + COME_BACK * (0.5 + random.random())
            return False
        except (OSError, ForeignDirectory, bank_toml.NewerSchema) as error:
            self._not_before += RETRY - INTERVAL
            self._fail(error)
            return False
        self.problem = ""
        took = time.monotonic() - began
        self._not_before = max(self._not_before, began + min(took / SHARE, RETRY))
        return True

    def close(self) -> bool:
        """Flush for the last time, waiting longer for others; True if the file is up to date."""
        self.patient = False
        self.refresh()  # an editor's older copy may lack what was written already
        if not self._pending() or self.flush(LAST_PATIENCE):
            return True
        self.notes = [note for note in self.notes if KEPT not in note]
        self._say(f"the last changes are not in {self.path}: {self.problem}")
        return False

    # -- reading ----------------------------------------------------------------------------

    def _open(self) -> None:
        try:
            with files.opened_dir(self.project.dir) as dir_fd:
                self._catch_up(dir_fd)
        except FileNotFoundError:
            return
        except (bank_toml.NewerSchema, NotADirectoryError) as error:
            self._fail(error)
            self.unread = self.problem
        except (bank_toml.BankError, files.NotAFile):
            self.bank = bank_rescue.last_good(self.project.state)
            self._dirty = True
            self.flush()
        except OSError as error:
            self._fail(error)
            self.unread = self.problem
        if self.bank.entries and not trust.is_ours(self.project):
            self.strange = frozenset(self.bank.entries)
            self._say(
                f"{self.path} was not made here: what its entries say is only quoted, and they"
                " hold nothing, until you have read it: pmem trust"
            )

    def _catch_up(self, dir_fd: int) -> bool:
        """Take in what the file holds beyond what we knew; True if there was anything.

        Raises BankError, NotAFile or OSError; memory is as it was then.
        """
        place = bank_rescue.place(dir_fd)
        if files.stamp(NAME, dir_fd) in (None, self._seen):
            self._place = self._place or place
            self._behind = None
            return False
        content, stamp = files.read_file(NAME, dir_fd)
        remarks: list[str] = []
        bank_toml.remember(self._blocks, self._rendered)
        fresh = bank_rescue.read(content, remarks, self._blocks)
        hand = self.at_work() if self._behind is None else self._behind.seen_by(self.at_work()).hand
        if hand:
            trusted = hand != "bank"
            self._dirty |= authors.disown(fresh, self.bank, self.project.state, trusted=trusted)
        restored, both = self._past.restore(fresh)
        self._dirty |= restored
        for id in both:
            self._say(f"{self.path}: {id} was changed by two hands; what the file says stays")
        self._past.took(fresh)
        for op in self._queue:
            with contextlib.suppress(ValueError):
                fresh.apply(op)
        if self._place is not None and place != self._place:
            bank_rescue.take_over(fresh, self.bank)  # another session began it anew
            self._dirty = True
        self.bank, self._seen, self._place, self._broken = fresh, stamp, place, None
        self.unread, self._behind = "", None
        self._leaving.clear()
        for remark in remarks:
            self._say(f"{self.path}: {remark}")
        return True

    # -- writing ----------------------------------------------------------------------------

    def _pending(self) -> bool:
        if self._queue or self._dirty or self._leaving:
            return True
        # `git clean` and its like take the file away under a running session.
        return self._seen is not None and files.stamp(self.project.bank) is None

    def _write(self, patience: float) -> None:
        ensure(self.project)
        with (
            files.opened_dir(self.project.dir) as dir_fd,
            files.locked(dir_fd, self.project.state / "lock", patience),
        ):
            files.discard_stale(dir_fd, NAME)
            for _ in range(20):
                self._catch_up_or_put_aside(dir_fd)
                self._leaving += evict(self.bank, self.max_entries, self.cited)
                self.bank.revision = self._past.revision + 1
                data = bank_toml.dumps(self.bank, self._rendered).encode()
                new, stamp = files.prepare(dir_fd, NAME, data)
                if files.stamp(NAME, dir_fd) in (None, self._seen):
                    break
                files.discard(dir_fd, new)  # an editor, which takes no lock, was faster
            else:
                raise files.Busy("something keeps writing to it")
            try:
                if self.vouched:  # before anybody can see it in the file
                    authors.vouch(self.project.state, self._queue, self.bank)
                self._archive(dir_fd)
                if self.bank.schema is not None and self.bank.schema < bank_toml.SCHEMA:
                    self._say(bank_rescue.keep_older(dir_fd, NAME, self.bank.schema))
                    self.bank.schema = None
                if self.patient:
                    rival.tell(self.project.state, stamp)
                files.commit(dir_fd, new, NAME)
            except OSError:
                files.discard(dir_fd, new)
                raise
            self._seen, self._place = stamp, bank_rescue.place(dir_fd)
        self._past.took(self.bank)
        self._queue.clear()
        self._dirty = False
        with contextlib.suppress(OSError):
            bank_rescue.keep_copy(self.project.state, data)

    def _catch_up_or_put_aside(self, dir_fd: int) -> None:
        try:
            self._catch_up(dir_fd)
        except bank_toml.NewerSchema:
            raise
        except (bank_toml.BankError, files.NotAFile) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            aside = bank_rescue.put_aside(dir_fd, NAME)
            self._seen = self._broken = None
            self.unread = ""
            self._say(
                f"{self.path} could not be read ({why}); it is kept as {aside},"
                f" and the last good bank ({len(self.bank.entries)} entries) is used"
            )

    def _archive(self, dir_fd: int) -> None:
        """Keep what left the bank, before the bank without it is in place."""
        if self._leaving:
            archive.append(dir_fd, self._leaving, max_bytes=self.max_archive)
            self._leaving.clear()

    def _stay_bounded(self) -> None:
        """However long nothing can be written, memory does not grow without end."""
        if self.project.read_only:
            self._queue.clear()
        elif len(self._queue) > MAX_QUEUE:
            del self._queue[: -MAX_QUEUE // 2]
            self._place = (-1, 0)  # whatever the file holds then, ours is put into it
        if len(self.bank.entries) > 2 * self.max_entries:
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
