"""The file operations the store rests on: private, atomic, never through a symbolic link.

Everything works relative to an open directory, so that a directory that is removed, replaced
or swapped for a link in the meantime cannot lead a write elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_count = itertools.count(1)

#: What flock answers where the file system has no such locks (NFS on a directory, some FUSE).
_NO_LOCKS = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


class Busy(Exception):
    """Somebody else held the lock for as long as we were ready to wait."""


class NotAFile(OSError):
    """A symbolic link, a pipe, a directory: something pmem does not read in place of a file."""


class Stamp(NamedTuple):
    """What tells one version of a file from the next."""

    mtime_ns: int
    size: int
    inode: int


def private_dir(path: Path) -> None:
    """Make a directory and its missing parents, 0700 whatever the umask; existing ones stay."""
    missing = [d for d in (path, *path.parents) if not d.exists()]
    for directory in reversed(missing):
        with contextlib.suppress(FileExistsError):
            directory.mkdir(0o700)
            directory.chmod(0o700)


@contextlib.contextmanager
def opened_dir(path: Path) -> Iterator[int]:
    """A descriptor of the directory itself; a link in its place raises NotADirectoryError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def stamp(name: str | Path, dir_fd: int | None = None) -> Stamp | None:
    """The file's stamp, None if there is no such file."""
    try:
        info = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _stamp(info)


def is_dir(path: Path) -> bool:
    """Whether it is a directory that can be reached; where we may not look, it is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_there(path: Path) -> bool:
    """Whether there is such a file or directory; where we may not look, there is none."""
    return os.access(path, os.F_OK)


def exists(name: str | Path, dir_fd: int | None = None) -> bool:
    """Whether there is anything of that name, a link that leads nowhere included."""
    return stamp(name, dir_fd) is not None


def read_file(
    name: str | Path, dir_fd: int | None = None, *, limit: int = 1 << 25
) -> tuple[bytes, Stamp]:
    """A regular file's content (at most `limit` bytes) and the stamp that belongs to it.

    Raises NotAFile for anything but a regular file of that size, OSError as the system does.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise NotAFile(error.errno, "is not a plain file", str(name)) from None
        raise
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise NotAFile(errno.EINVAL, "is not a plain file", str(name))
        if info.st_size > limit:
            raise NotAFile(errno.EFBIG, f"is larger than {limit >> 20} MB", str(name))
        return file.read(), _stamp(info)


def prepare(dir_fd: int, name: str, data: bytes, *, sync: bool = True) -> tuple[str, Stamp]:
    """Write `data` to a new file (0600) beside `name`, ready for `commit`; `sync`: to the disk.

    Returns its name and stamp. On any error nothing is left behind.
    """
    new = f".{name}.{os.getpid()}-{next(_count)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(new, flags, 0o600, dir_fd=dir_fd)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o600)
            _give_to_owner(fd, dir_fd)
            file.write(data)
            file.flush()
            if sync:
                os.fsync(fd)
            return new, _stamp(os.fstat(fd))
    except BaseException:
        discard(dir_fd, new)
        raise


def commit(dir_fd: int, new: str, name: str) -> None:
    """Put a prepared file in the place of `name`: whoever reads sees the old one or the new."""
    os.rename(new, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)


def discard(dir_fd: int, new: str) -> None:
    """Remove a prepared file that is not wanted any more."""
    with contextlib.suppress(OSError):
        os.unlink(new, dir_fd=dir_fd)


def discard_stale(dir_fd: int, name: str) -> None:
    """Remove what killed writers of `name` left; only under the lock that all writers take."""
    for entry in os.listdir(dir_fd):
        if entry.startswith(f".{name}.") and entry.endswith(".tmp"):
            discard(dir_fd, entry)


def write_file(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace a file in one go, 0600; its directory is made if need be."""
    private_dir(path.parent)
    # The parent may be reached through links of the user's own (~/.config often is one).
    with opened_dir(path.parent.resolve()) as dir_fd:
        new, _ = prepare(dir_fd, path.name, data, sync=sync)
        try:
            commit(dir_fd, new, path.name)
        except OSError:
            discard(dir_fd, new)
            raise


def open_append(name: str | Path, dir_fd: int | None = None) -> int:
    """A descriptor that appends to a private file of our own; O_CLOEXEC, never a link.

    A file that has a second name somewhere (a hard link) is copied first: what we append does
    not appear there.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=dir_fd)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise NotAFile(errno.EINVAL, "is not a plain file", str(name))
        if info.st_nlink > 1 and dir_fd is not None:
            new, _ = prepare(dir_fd, str(name), read_file(name, dir_fd, limit=1 << 30)[0])
            commit(dir_fd, new, str(name))
            os.close(fd)
            fd = os.open(name, flags, 0o600, dir_fd=dir_fd)
        os.fchmod(fd, 0o600)
        if dir_fd is not None:
            _give_to_owner(fd, dir_fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


@contextlib.contextmanager
def locked(dir_fd: int, fallback: Path, patience: float) -> Iterator[None]:
    """Hold the one lock of a directory for the length of a `with`.

    The lock lies on the directory itself: no file is needed, and all who reach the directory
    share it. Where that cannot be locked, the file `fallback` is, and where nothing can be
    locked we go on without. Raises Busy after `patience` seconds.
    """
    own = -1
    try:
        if not lock(dir_fd, patience):
            private_dir(fallback.parent)
            own = open_append(fallback)
            lock(own, patience)
        yield
    finally:
        if own >= 0:
            os.close(own)
        else:
            with contextlib.suppress(OSError):
                fcntl.flock(dir_fd, fcntl.LOCK_UN)


def lock(fd: int, patience: float) -> bool:
    """Lock an open file until it is closed; False where the file system knows no locks.

    Raises Busy after `patience` seconds.
    """
    deadline = time.monotonic() + patience
    pause = 0.001
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Busy(f"another pmem kept the lock for {patience:g} s") from None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            raise
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def _stamp(info: os.stat_result) -> Stamp:
    return Stamp(info.st_mtime_ns, info.st_size, info.st_ino)


def _give_to_owner(fd: int, dir_fd: int) -> None:
    """Root working in somebody's project leaves them files they can read and write."""
    if os.geteuid() != 0:
        return
    owner = os.fstat(dir_fd)
    if owner.st_uid != 0:
        os.fchown(fd, owner.st_uid, owner.st_gid)
