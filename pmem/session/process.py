"""Starts the session process beside the terminal process, and runs it.

The socket is bound before the fork, so that the agent's first hook finds it; the session process
ends when its side of the link reads end-of-file, whatever ended the terminal process (no
PDEATHSIG: macOS has none).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pmem.session import run_dir as run_dirs
from pmem.session.leash import Leash
from pmem.store.project import Project
from pmem.store.settings import Settings
from pmem.terminal.link import Link

#: How long a session nobody tells anything yet stays out of its program's way, in seconds.
LET_START = 0.25


# Named tuples: a dataclass takes three times as long to be made, at every start.
class SessionConfig(NamedTuple):
    """What a session is started with.

    `agent` is a name for the session's id and its log; `tells` says that events are to come. An
    `id` is one that is claimed already. `printed_to` are files, by device and inode, that the
    agent's own output goes into.
    """

    project: Project
    settings: Settings
    agent: str
    argv: Sequence[str] = ()
    cwd: Path = Path()
    task: str = ""
    tells: bool = True
    id: str = ""
    printed_to: frozenset[tuple[int, int]] = frozenset()


class Running(NamedTuple):
    """A session process, from the terminal's side.

    `env` is what the agent and its hooks need to reach it; `run_dir` is private and goes away
    with the session process.
    """

    link: Link
    env: Mapping[str, str]
    run_dir: Path
    pid: int


def start(config: SessionConfig, env: Mapping[str, str]) -> Running:
    """Fork the session process. Raises OSError (NoPrivateDirectory) if it cannot be reached."""
    directory = run_dirs.make(env)
    try:
        listener = run_dirs.listen(directory)
        ours, theirs = socket.socketpair()
    except OSError:
        run_dirs.remove(directory)
        raise
    token = os.urandom(16).hex()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        ours.close()
        _live(config, env, listener, theirs, token, directory)
    listener.close()
    theirs.close()
    reach = {"PMEM_SOCK": os.fspath(directory / run_dirs.SOCKET), "PMEM_TOKEN": token}
    return Running(Link(ours), reach, directory, pid)


def _live(
    config: SessionConfig,
    env: Mapping[str, str],
    listener: socket.socket,
    link: socket.socket,
    token: str,
    directory: Path,
) -> None:
    """The whole life of the session process; never returns."""
    code = 125
    try:
        config = config._replace(printed_to=_printed_to())
        _detach({listener.fileno(), link.fileno()})
        if config.tells or _is_needed(listener, link):
            serve(config, env, listener, link, token)
        code = 0
    except SystemExit:
        code = 0
    except BaseException:
        complain(config.project.state, _traceback())
    finally:
        run_dirs.remove(directory)
        os._exit(code)


def _is_needed(listener: socket.socket, link: socket.socket) -> bool:
    """Leave the machine to a program that tells nothing, until it runs or somebody asks.

    Whether there is something to do then: False if the program is over.
    """
    if select.select([listener, link], [], [], LET_START)[0] != [link]:
        return True
    try:
        return bool(link.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except OSError:
        return False


def _printed_to() -> frozenset[tuple[int, int]]:
    """The files behind stdout and stderr, as device and inode."""
    files = set()
    for fd in (1, 2):
        with contextlib.suppress(OSError):
            found = os.fstat(fd)
            if stat.S_ISREG(found.st_mode):
                files.add((found.st_dev, found.st_ino))
    return frozenset(files)


def _detach(keep: set[int]) -> None:
    """A session of its own without a terminal, holding nothing but its two sockets."""
    with contextlib.suppress(OSError):
        os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    low = 3
    for fd in sorted(keep):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def serve(
    config: SessionConfig,
    env: Mapping[str, str],
    listener: socket.socket,
    link_socket: socket.socket,
    token: str,
    *,
    leash: Leash | None = None,
    first: bytes = b"",
) -> None:
    """Run one session to its end: the loop, then the bank is flushed and the summary sent.

    Without a terminal it ends with the process on the `leash`; `first` is a request that came
    before there was a socket.
    """
    from pmem.session.assemble import assemble
    from pmem.session.beside import SWITCH
    from pmem.session.server import Server
    from pmem.session.warm_up import warm_up
    from pmem.store.sessions import prune

    sys.setswitchinterval(SWITCH)
    link = Link(link_socket)
    session, bank_file, log = assemble(config, env)
    if config.tells:
        warm_up(session)
    server = Server(
        session,
        bank_file,
        listener,
        link,
        token,
        complain=lambda text: complain(config.project.state, text),
        leash=leash,
    )
    told = len(bank_file.notes)
    link.send(
        {
            "type": "ready",
            "memory": session.name,
            "entries": len(bank_file.bank.entries),
            "log": os.fspath(log.dir),
            "note": " ".join(bank_file.notes),
        }
    )
    try:
        server.run(first)
    finally:
        session.close()
        saved = bank_file.close()
        log.close(bank_file.path)
        thinking = session.outside.thinking
        said = thinking.notes if thinking is not None else []
        note = " ".join([*bank_file.notes[told:], *log.notes, *said])
        link.send(
            {"type": "summary", **summary(session, config, bank_file, saved=saved), "note": note}
        )
        link.drain(1.0)
        link.close()
        prune(config.project, keep_days=config.settings.keep_days, keep_mb=config.settings.keep_mb)


def summary(session: Any, config: SessionConfig, bank_file: Any, *, saved: bool) -> dict[str, Any]:
    """What the end line tells; `bank` as the user would type it, or that it was not saved."""
    bank = Path(bank_file.path)
    shown = os.path.relpath(bank, config.cwd) if config.cwd.is_absolute() else os.fspath(bank)
    return {
        "steps": session.tally.steps,
        "reminders": session.tally.reminders,
        "new_entries": session.new_entries,
        "bank": _typed(shown, bank) if saved else "the bank is not saved",
    }


def _typed(shown: str, bank: Path) -> str:
    return shown if not shown.startswith("../..") else os.fspath(bank)


def complain(state: Path, text: str) -> None:
    """Keep an unexpected error for `pmem doctor` and for a report; never raises."""
    with contextlib.suppress(OSError):
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(state / "errors.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            os.write(fd, f"{stamp}\n{text}\n".encode("utf-8", "replace"))
        finally:
            os.close(fd)


def _traceback() -> str:
    import traceback

    return traceback.format_exc()
