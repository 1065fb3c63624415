"""The session of an agent that was started without pmem, in an attached project.

The first hook event of the agent starts it (`pmem/hook/attached.py`), and it ends with the
agent's process. Its socket lies in a directory named by that process's id, which is claimed by
making it: of several first events at once one starts the session, the others reach it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pmem.hook import attached, client
from pmem.session import run_dir as run_dirs

if TYPE_CHECKING:
    from pmem.session.leash import Leash
    from pmem.session.process import SessionConfig

#: Seconds after which a directory that was claimed and has no socket counts as left behind.
PATIENCE = 5.0


def main() -> NoReturn:
    """`… ROOT AGENT PARENT`, the first event on stdin. Never raises, tells nobody."""
    try:
        _, _, agent, parent = sys.argv
        payload = client.read_all(0)
        run(agent, attached.agent_process(int(parent), agent), payload)
    finally:
        os._exit(0)


def run(agent: str, pid: int, payload: bytes) -> None:
    """Serve the agent's session to its end, or hand the event to the one that is there."""
    directory = claim(pid, agent, payload)
    if directory is None:
        return
    from pmem.session.process import complain

    state = None
    try:
        listener, token = open_(directory)
        from pmem.session.leash import Leash

        leash = Leash(pid)
        if not leash.holds():
            run_dirs.remove(directory)
            return
        config = configure(agent)
        if config is None:
            give_up(directory)
            return
        state = config.project.state
        serve_detached(config, listener, token, leash, agent, payload)
        run_dirs.remove(directory)
    except BaseException:
        import traceback

        if state is not None:
            complain(state, traceback.format_exc())
        give_up(directory)


def claim(pid: int, agent: str, payload: bytes) -> Path | None:
    """The session's directory, made by us; None if another session took the event."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return run_dirs.make(os.environ, attached.directory(pid))
        except FileExistsError:
            found = attached.find(attached.bases(os.environ), pid)
        if found == ("", ""):
            return None
        if found is not None:
            try:
                client.ask(*found, agent, payload, PATIENCE)
                return None
            except ConnectionRefusedError:  # its process was killed
                shutil.rmtree(Path(found[0]).parent, ignore_errors=True)
            except OSError:
                pass
        if time.monotonic() > end:
            for base in attached.bases(os.environ):
                shutil.rmtree(Path(base) / attached.directory(pid), ignore_errors=True)
            end += PATIENCE
        time.sleep(0.02)


def open_(directory: Path) -> tuple[socket.socket, str]:
    """The listening socket and the token, which is written last: who reads it can connect."""
    listener = run_dirs.listen(directory)
    token = secrets.token_hex(16)
    fd = os.open(directory / ".t", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, token.encode())
    os.close(fd)
    (directory / ".t").rename(directory / attached.TOKEN)
    return listener, token


def give_up(directory: Path) -> None:
    """Leave a sign that this agent gets no session, so that not every event starts one."""
    for name in (attached.TOKEN, attached.SOCKET):
        (directory / name).unlink(missing_ok=True)
    (directory / attached.NONE).touch(0o600)


def configure(agent: str) -> SessionConfig | None:
    """The session to start for the directory the hook ran in, None where it is switched off."""
    from pmem.session.process import SessionConfig
    from pmem.store.project import ForeignDirectory, find_project
    from pmem.store.settings import load_settings

    try:
        cwd = Path.cwd()
        project = find_project(cwd, os.environ)
        settings = load_settings(project, os.environ, {})
    except (ForeignDirectory, ValueError, OSError):
        return None
    if settings.off or settings.arm == "off":
        return None
    return SessionConfig(project, settings, agent, (agent,), cwd)


def serve_detached(
    config: SessionConfig,
    listener: socket.socket,
    token: str,
    leash: Leash,
    agent: str,
    payload: bytes,
) -> None:
    """The whole session, beginning with the event that started it."""
    import signal

    from pmem.session.process import serve

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    ours, theirs = socket.socketpair()
    first = b"%s %s %s\n" % (client.WIRE, token.encode(), agent.encode()) + payload
    try:
        serve(config, os.environ, listener, theirs, token, leash=leash, first=first)
    except SystemExit:
        pass
    finally:
        ours.close()
