"""Project: where the memory of a directory lies, and how that place is made.

`.pmem/` is looked for upward from the start, up to the git root. The user's home and `/` are
never a project: there nothing is written (`read_only`), the session keeps its memory to itself.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import re
import stat
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pmem.store import files, places
from pmem.store.git_files import main_worktree

#: The directory's name, and the file whose presence marks it as pmem's.
NAME = ".pmem"
MARK = "pmem.toml"
GIT_IGNORE = ".gitignore"

#: What a new pmem.toml says; every line but the first is a setting at its default.
TEMPLATE = """\
# pmem's settings for this project. Remove a "#" to change one; `pmem config` shows them all.
# arm = "rules"         # "off": steps are recorded, nothing is said
# interval = 5          # the memory agent looks every N steps
# window = 8            # and sees the last K
# hold = "sure"         # "sure", "watch" or "never": what may put a proposed action back, once
# quiet = false         # true: no line at the start and at the end
# private = []          # globs of commands that are never recorded, as in ["op *", "vault *"]
"""


#: One thread makes a directory at a time: what it makes is named by the process.
_MAKING = threading.Lock()


class ForeignDirectory(Exception):
    """A `.pmem` that is not pmem's to use; the message says why and what to do."""


class Project(NamedTuple):
    """Where a project's files are.

    `root` is what recorded directories are relative to, `dir` holds bank.toml (and may not exist
    yet), `state` the sessions' logs. With `read_only` nothing is written to `dir`. `remark` is
    a sentence for the user, "" if there is none.
    """

    root: Path
    dir: Path
    state: Path
    read_only: bool = False
    remark: str = ""

    @property
    def bank(self) -> Path:
        """bank.toml"""
        return self.dir / "bank.toml"

    @property
    def settings(self) -> Path:
        """pmem.toml"""
        return self.dir / MARK

    @property
    def archive(self) -> Path:
        """archive.jsonl: what the bank had no room for."""
        return self.dir / "archive.jsonl"


def find_project(
    start: Path, env: Mapping[str, str], override: str | Path | None = None
) -> Project:
    """The project that a directory belongs to; nothing is written.

    `override` (`--dir`), else PMEM_DIR, names the directory that holds the memory, in place of
    `.pmem`. Raises ForeignDirectory if the place is taken by something that is not pmem's.
    """
    start = Path(os.path.realpath(start))
    named = override or env.get("PMEM_DIR")
    if named:
        directory = _named(start, Path(named))
        _must_be_ours(directory, named=True)
        return _project(_root(start, env)[0], directory, env)
    root, found = _root(start, env)
    if root == Path(root.anchor) or root == _home(env):
        remark = f"{root} is no project: this session's memory ends with it; pmem --dir keeps it"
        return _project(root, root / NAME, env, read_only=True, remark=remark)
    directory = found or root / NAME
    _must_be_ours(directory)
    return _project(root, directory, env)


def ensure(project: Project) -> None:
    """Make the project's directory if it is missing: 0700, with pmem.toml and .gitignore.

    Raises ForeignDirectory, or OSError where it cannot be made.
    """
    if project.read_only:
        raise OSError(errno.EROFS, "pmem writes nothing here", os.fspath(project.dir))
    with _MAKING:
        _ensure(project)


def _ensure(project: Project) -> None:
    _must_be_ours(project.dir, named=True)
    if project.settings.exists():
        return
    if project.dir.parent == project.root and not files.is_dir(project.root):
        raise OSError(errno.ENOENT, "the project's directory is gone", os.fspath(project.root))
    _make(project.dir)
    from pmem.store import trust

    with contextlib.suppress(OSError):  # without the record, `pmem trust` will be asked for
        trust.made_here(project)


def _make(directory: Path) -> None:
    """Make the directory in one go, so that no half-made one is ever found."""
    if files.is_dir(directory):  # an empty one the user named; it may be a mount point
        with files.opened_dir(directory) as dir_fd:
            _fill(dir_fd)
        return
    directory.parent.mkdir(parents=True, exist_ok=True)
    _sweep(directory)
    new = directory.with_name(f"{directory.name}.new-{os.getpid()}")
    new.mkdir(0o700)
    try:
        new.chmod(0o700)
        with files.opened_dir(new) as dir_fd:
            _give(dir_fd, directory.parent)
            _fill(dir_fd)
        new.rename(directory)
    except OSError as error:
        _remove(new)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and (directory / MARK).exists():
            return  # another pmem was faster
        raise


def _fill(dir_fd: int) -> None:
    for name, text in ((MARK, TEMPLATE), (GIT_IGNORE, "*\n")):
        part, _ = files.prepare(dir_fd, name, text.encode())
        files.commit(dir_fd, part, name)


def _sweep(directory: Path) -> None:
    """Take away half-made ones that dead processes left beside it, and one of our own."""
    with contextlib.suppress(OSError):
        for left in directory.parent.iterdir():
            begins, _, pid = left.name.rpartition("-")
            ours = begins == f"{directory.name}.new" and pid.isdecimal()
            if ours and not left.is_symlink() and not _makes(int(pid)):
                _remove(left)


def _makes(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _remove(directory: Path) -> None:
    if directory.exists():
        import shutil

        shutil.rmtree(directory, ignore_errors=True)


def _root(start: Path, env: Mapping[str, str]) -> tuple[Path, Path | None]:
    """The directory that is the project's root, and the `.pmem` found there, if any."""
    home = _home(env)
    for directory in (start, *start.parents):
        if directory == home or directory == Path(directory.anchor):
            break
        if _exists(directory / NAME) and (directory == start or _trustworthy(directory / NAME)):
            return directory, directory / NAME
        if _exists(directory / ".git"):
            main = main_worktree(directory)
            if main in (home, Path(main.anchor)):
                return directory, None
            return main, main / NAME if _exists(main / NAME) else None
    return start, None


def _named(start: Path, path: Path) -> Path:
    """The directory the user means: the path itself, or the `.pmem` in it."""
    with contextlib.suppress(RuntimeError):  # "~" without a home
        path = path.expanduser()
    directory = Path(os.path.realpath(start / path))
    if ".git" in directory.parts:
        raise ForeignDirectory(f"{directory} lies among git's own files. {_ELSEWHERE}")
    inside = directory / NAME
    if not files.is_there(directory / MARK) and files.is_there(inside / MARK):
        return inside
    return directory


def _must_be_ours(directory: Path, *, named: bool = False) -> None:
    """Raise ForeignDirectory unless it is ours, missing, or empty and named by the user."""
    try:
        info = directory.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISLNK(info.st_mode):
        why = "is a symbolic link, which pmem does not follow"
    elif not stat.S_ISDIR(info.st_mode):
        why = "is not a directory"
    elif not _own(info):
        why = f"belongs to another user (uid {info.st_uid})"
    elif _exists(directory / MARK) or (named and not any(directory.iterdir())):
        return
    else:
        why = f"has no {MARK}, so it belongs to another tool"
        if _exists(directory / "bank.toml"):
            why += f" (or put an empty {MARK} into it, if the bank is pmem's)"
    raise ForeignDirectory(f"{directory} {why}; nothing in it was touched. {_ELSEWHERE}")


_ELSEWHERE = "Keep the memory elsewhere with --dir DIR or PMEM_DIR."


def _trustworthy(path: Path) -> bool:
    """Above the start, what another user put into a shared directory is passed over."""
    return _own(path.lstat())


def _own(info: os.stat_result) -> bool:
    return info.st_uid == os.geteuid() or os.geteuid() == 0


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _home(env: Mapping[str, str]) -> Path | None:
    own = places.home(env)
    return None if own is None else Path(os.path.realpath(own))


def _give(dir_fd: int, parent: Path) -> None:
    """Root makes the directory for whoever owns the project."""
    if os.geteuid() == 0:
        owner = parent.stat()
        if owner.st_uid != 0:
            os.fchown(dir_fd, owner.st_uid, owner.st_gid)


def _project(
    root: Path,
    directory: Path,
    env: Mapping[str, str],
    *,
    read_only: bool = False,
    remark: str = "",
) -> Project:
    base, no_home = places.state_home(env)
    # One state directory a bank, so that whoever shares the bank shares its copy.
    place = directory.parent if directory.name == NAME else directory
    name = re.sub(r"[^\w.-]", "_", place.name)[:40] or "root"
    digest = _sha256(os.fsencode(place))[:8]
    state = base / f"{name}-{digest}"
    return Project(root, directory, state, read_only, remark or no_home)


def _sha256(data: bytes) -> str:
    """The digest in hex, by Python's own code: loading OpenSSL would be felt at each start."""
    own = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    try:
        made = importlib.import_module(own).sha256(data)
    except ImportError:
        import hashlib

        made = hashlib.sha256(data)
    return str(made.hexdigest())
