"""The projects whose settings name pmem, so that each can be put back as it was.

One record an attached file, in the user's state directory, with the bytes that stood there
before. A private file that git would show is named in the repository's own `info/exclude`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pmem.store import files
from pmem.store.git_files import common_dir, tracks
from pmem.store.places import state_home

FOLDER = "attached"


class Refused(Exception):
    """Nothing was changed; the message says why, in a sentence without its end."""


class KeptByGit(Refused):
    """The file is shared with others, who would get the hooks too."""


@dataclass(frozen=True, slots=True)
class Record:
    """What was done to one file.

    `before` is what stood there (None: no file), `after` the digest of what was written.
    `made` are the directories made for it, `exclude` the file in which `excluded` was added,
    with `exclude_before` its bytes then.
    """

    agent: str
    root: str
    file: str
    before: bytes | None
    after: str
    mode: int | None = None
    made: tuple[str, ...] = ()
    exclude: str = ""
    excluded: str = ""
    exclude_before: bytes | None = None


def settings_root(start: Path, home: Path | None) -> Path | None:
    """The root of the worktree a directory is in, None if it is in none."""
    for directory in (start, *start.parents):
        if directory in (home, Path(directory.anchor)):
            return None
        if files.is_there(directory / ".git"):
            return directory
    return None


def records(env: Mapping[str, str]) -> list[Record]:
    """All attached files, as far as their records can be read."""
    found = []
    folder = _folder(env)
    for path in sorted(folder.glob("*.json")) if files.is_dir(folder) else []:
        with contextlib.suppress(OSError, ValueError, TypeError):
            found.append(_read(path))
    return found


def record(env: Mapping[str, str], agent: str, file: Path) -> Record | None:
    """The record of one agent's file."""
    return next((r for r in records(env) if (r.agent, r.file) == (agent, str(file))), None)


def attach(
    env: Mapping[str, str],
    agent: str,
    root: Path,
    file: Path,
    change: Callable[[str], str],
    clean: Callable[[str], str | None],
    *,
    shared: bool = False,
) -> bool:
    """Put the changed text in the place of a project's settings file; False if it is so already.

    `change` adds our lines, `clean` gives the text without them (None if there are none); both
    raise ValueError for a text that cannot be read. Raises Refused, with all as it was, and
    OSError.
    """
    content = read_settings(file)
    new = changed(file, content, change)
    if new == content:
        return False
    if not shared and tracks(root, file.relative_to(root).as_posix()):
        raise KeptByGit(f"{file} is kept by git, so your colleagues would get it too")
    old = record(env, agent, file)
    if old is not None and content is not None and _digest(content) == old.after:
        note = replace(old, after=_digest(new))
    else:
        mode = file.stat().st_mode & 0o777 if content is not None else None
        without = None if content is None else changed(file, content, clean)
        before = content if without is None else without
        note = Record(agent, str(root), str(file), before, _digest(new), mode)
        note = replace(note, made=tuple(map(str, _missing(file.parent, root))))
        if old is not None:
            note = replace(
                note,
                made=old.made,
                exclude=old.exclude,
                excluded=old.excluded,
                exclude_before=old.exclude_before,
            )
    if not shared:
        note = _excluded(note, root, file)
    _write(env, note)  # first, so that whatever happens next can be undone
    if note.exclude and (old is None or not old.exclude):
        _exclude(note)
    files.write_file(file, new)
    if note.mode is not None:
        file.chmod(note.mode)
    return True


def detach(
    env: Mapping[str, str], agent: str, file: Path, change: Callable[[str], str | None]
) -> bool:
    """Put a settings file back as it was, or take our lines out if it changed since.

    `change` gives the text without our lines, None if there are none. False if there was
    nothing to undo. Raises Refused, with all as it was, and OSError.
    """
    note = record(env, agent, file)
    content = read_settings(file)
    undone = False
    if content is not None:
        if note is not None and _digest(content) == note.after:
            _put(file, note.before, note.mode)
            undone = True
        else:
            new = changed(file, content, change)
            if new is not None:
                nothing = note is not None and note.before is None and _empty(new)
                _put(file, None if nothing else new, file.stat().st_mode & 0o777)
                undone = True
    if note is None:
        return undone
    if not files.is_there(file):
        for directory in note.made:
            with contextlib.suppress(OSError):
                Path(directory).rmdir()
    if note.exclude:
        _unexclude(note)
    forget(env, note)
    return True


def forget(env: Mapping[str, str], note: Record) -> None:
    """Drop a record: it is undone, or its project is gone."""
    _path(env, note.agent, Path(note.file)).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        _folder(env).rmdir()


def read_settings(file: Path) -> bytes | None:
    """A settings file's bytes, None if there is no such file. Raises Refused, OSError."""
    try:
        return files.read_file(file)[0]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except files.NotAFile as error:
        raise Refused(f"{file} {error.strerror}") from None


def changed(file: Path, content: bytes | None, change: Callable[[str], Any]) -> Any:
    """The changed text as bytes, or None as `change` says. Raises Refused."""
    marked = (content or b"").startswith(b"\xef\xbb\xbf")
    try:
        text = change((content or b"").decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Refused(f"{file} is not UTF-8 text") from None
    except ValueError as error:
        raise Refused(f"{file} cannot be read: {error}") from None
    if text is None:
        return None
    return (b"\xef\xbb\xbf" if marked else b"") + text.encode()


# -- git -----------------------------------------------------------------------------------------


def _excluded(note: Record, root: Path, file: Path) -> Record:
    shared_dir = common_dir(root) if files.is_there(root / ".git") else None
    if shared_dir is None or note.exclude:
        return note
    exclude = shared_dir / "info" / "exclude"
    line = "/" + file.relative_to(root).as_posix()
    before = None
    with contextlib.suppress(FileNotFoundError):
        before = exclude.read_bytes()
    if line.encode() in (before or b"").splitlines():
        return note
    return replace(note, exclude=str(exclude), excluded=line, exclude_before=before)


def _exclude(note: Record) -> None:
    exclude = Path(note.exclude)
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_bytes(_with_line(note.exclude_before or b"", note.excluded))


def _unexclude(note: Record) -> None:
    """As it was before, if nobody else wrote to it; else without our line."""
    exclude = Path(note.exclude)
    with contextlib.suppress(OSError):
        now = exclude.read_bytes()
        if now != _with_line(note.exclude_before or b"", note.excluded):
            lines = now.splitlines(keepends=True)
            exclude.write_bytes(b"".join(k for k in lines if k.strip() != note.excluded.encode()))
        elif note.exclude_before is None:
            exclude.unlink()
        else:
            exclude.write_bytes(note.exclude_before)


def _with_line(before: bytes, line: str) -> bytes:
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    return before + gap + line.encode() + b"\n"


# -- files ---------------------------------------------------------------------------------------


def _put(file: Path, content: bytes | None, mode: int | None) -> None:
    if content is None:
        file.unlink()
        return
    files.write_file(file, content)
    if mode is not None:
        file.chmod(mode)


def _empty(content: bytes) -> bool:
    with contextlib.suppress(ValueError):
        return bool(json.loads(content.decode("utf-8-sig")) == {})
    return False


def _missing(directory: Path, root: Path) -> list[Path]:
    return [d for d in (directory, *directory.parents) if d.is_relative_to(root) and not d.exists()]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _folder(env: Mapping[str, str]) -> Path:
    return state_home(env)[0] / FOLDER


def _path(env: Mapping[str, str], agent: str, file: Path) -> Path:
    key = hashlib.sha256(agent.encode() + b"\0" + os.fsencode(file)).hexdigest()[:16]
    return _folder(env) / f"{key}.json"


def _write(env: Mapping[str, str], note: Record) -> None:
    told = {
        key: {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for key, value in asdict(note).items()
    }
    text = json.dumps(told, indent=1)
    files.write_file(_path(env, note.agent, Path(note.file)), text.encode("utf-8", "replace"))


def _read(path: Path) -> Record:
    told = json.loads(files.read_file(path)[0])
    for key, value in told.items():
        if isinstance(value, dict):
            told[key] = base64.b64decode(value["base64"])
    return Record(**{**told, "made": tuple(told["made"])})
