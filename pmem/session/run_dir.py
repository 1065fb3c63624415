"""The private directory of a running session: its socket and what its agent must read.

It lies in `$XDG_RUNTIME_DIR/pmem`, else in a directory of the user's own below the temp
directory; a socket's path may have at most 103 bytes (macOS), so the names are short.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from pmem.hook.attached import bases

MAX_SOCKET_PATH = 103
SOCKET = "s"
NEW = "n"


class NoPrivateDirectory(OSError):
    """There is no place for a directory that only this user can enter."""


def make(env: Mapping[str, str]) -> Path:
    """A new private directory (0700) for one session; leftovers of dead ones are removed.

    Raises NoPrivateDirectory if no place is safe.
    """
    for _ in range(8):
        base = _base(env)
        # Not hexadecimal from its first letter on: `a1234567` is that of an attached agent.
        path = base / f"r{os.urandom(4).hex()[1:]}"
        try:
            _sweep(base)
            path.mkdir(mode=0o700)
        # Another session just took the empty base away, or has that very name.
        except (FileNotFoundError, FileExistsError):
            continue
        return path
    raise NoPrivateDirectory(f"{base} keeps vanishing; set XDG_RUNTIME_DIR to a path of your own")


def remove(path: Path) -> None:
    """Take a session's directory away, and the base if it was the last one."""
    shutil.rmtree(path, ignore_errors=True)
    try:
        path.parent.rmdir()
    except OSError:
        return


def listen(run_dir: Path) -> socket.socket:
    """The session's socket, bound and listening.

    It gets its name last: one that is bound and does not listen yet looks like a dead session's,
    and another that starts this very moment would sweep it away.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(run_dir / NEW))
    listener.listen(64)
    (run_dir / NEW).rename(run_dir / SOCKET)
    return listener


def _base(env: Mapping[str, str]) -> Path:
    places = []
    for place in _places(env):
        if len(os.fsencode(place)) + len("/01234567/s") <= MAX_SOCKET_PATH and _is_private(place):
            return place
        places.append(place)
    raise NoPrivateDirectory(
        f"no private directory for a socket (tried {', '.join(map(str, places))}); "
        "set XDG_RUNTIME_DIR to a short path of your own"
    )


def _places(env: Mapping[str, str]) -> Iterator[Path]:
    yield from (Path(place) for place in bases(dict(env)))
    import tempfile

    yield Path(tempfile.gettempdir()) / f"pmem-{os.getuid()}"


def _is_private(place: Path) -> bool:
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    try:
        found = place.lstat()
    except OSError:
        return False
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if ours and stat.S_IMODE(found.st_mode) & 0o077:
        place.chmod(0o700)
    return ours


def _sweep(base: Path) -> None:
    """Remove directories whose session process is gone: nobody accepts on their socket.

    One that says that an agent shall have no session goes when that agent's process is gone.
    """
    for left in base.iterdir():
        if left.name[:1] == "a" and left.name[1:].isdecimal() and not _runs(int(left.name[1:])):
            shutil.rmtree(left, ignore_errors=True)
            continue
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        probe.setblocking(False)  # one that is stopped accepts nobody, and lives
        try:
            probe.connect(os.fspath(left / SOCKET))
        except ConnectionRefusedError:
            shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue
        finally:
            probe.close()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
