"""What pmem must know of a git repository, read from its files.

git itself is never run: a repository's own configuration can make it run programs.
"""

from __future__ import annotations

import contextlib
import re
import struct
from pathlib import Path

from pmem.store import files


def common_dir(root: Path) -> Path | None:
    """The repository directory that all worktrees share, for a directory that has a `.git`.

    None where `.git` cannot be read, or names a repository that does not know this worktree.
    """
    dot_git = root / ".git"
    if files.is_dir(dot_git):
        return dot_git.resolve()
    git_dir = _pointed(dot_git, "gitdir:")
    if git_dir is None or not files.is_dir(git_dir):
        return None
    shared = _pointed(git_dir / "commondir")
    if shared is None:
        return git_dir.resolve()
    # A `.git` file may name anything: only a worktree that its repository lists is one.
    back = _pointed(git_dir / "gitdir")
    if back is None or back.resolve() != dot_git.resolve():
        return None
    return shared.resolve()


def main_worktree(root: Path) -> Path:
    """The main worktree of the repository that `root` is a worktree of; else `root` itself."""
    shared = common_dir(root)
    if shared is None or files.is_dir(root / ".git"):
        return root
    main = shared.parent
    if main == root or not files.is_there(main / ".git"):
        return root  # a submodule, or worktrees of a bare repository
    return main if common_dir(main) == shared else root


def tracks(root: Path, path: str) -> bool:
    """Whether git has a file of this worktree in its index (`path` relative to `root`, with `/`).

    True as well where the index cannot be understood: the careful answer.
    """
    dot_git = root / ".git"
    if not files.is_there(dot_git):
        return False
    git_dir = dot_git if files.is_dir(dot_git) else _pointed(dot_git, "gitdir:")
    if git_dir is None:
        return True
    try:
        index = (git_dir / "index").read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    sha256 = False
    with contextlib.suppress(OSError):
        config = (common_dir(root) or git_dir) / "config"
        sha256 = re.search(rb"objectformat\s*=\s*sha256", config.read_bytes(), re.I) is not None
    try:
        return path.encode() in _index_paths(index, 32 if sha256 else 20)
    except (ValueError, struct.error, IndexError):
        return True


def _index_paths(index: bytes, hash_size: int) -> set[bytes]:
    """The paths in an index file of version 2, 3 or 4 (gitformat-index). Raises ValueError."""
    magic, version, count = struct.unpack_from(">4sII", index)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index")
    paths: set[bytes] = set()
    previous = b""
    at = 12
    for _ in range(count):
        start = at
        at += 40 + hash_size
        (flags,) = struct.unpack_from(">H", index, at)
        at += 4 if flags & 0x4000 else 2
        kept = 0
        if version == 4:
            strip, at = _offset(index, at)
            kept = max(0, len(previous) - strip)
        end = index.index(b"\0", at)
        previous = previous[:kept] + index[at:end]
        paths.add(previous)
        at = end + 1
        if version != 4:
            at = start + (at - start + 7) // 8 * 8
    while at + 8 <= len(index) - hash_size:
        if index[at : at + 4] == b"link":
            raise ValueError("a split index")
        at += 8 + int.from_bytes(index[at + 4 : at + 8], "big")
    return paths


def _offset(index: bytes, at: int) -> tuple[int, int]:
    """git's variable-width number at a place, and the place after it."""
    byte = index[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = index[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _pointed(file: Path, prefix: str = "") -> Path | None:
    """The path a small file of git's holds, relative to where the file lies."""
    try:
        text = file.read_bytes()[:4096].decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None
    if not text.startswith(prefix):
        return None
    named = text.removeprefix(prefix).strip()
    return file.parent / named if named else None
