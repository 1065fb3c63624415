"""The session of an agent that was started without pmem, in an attached project.

The first hook event of the agent starts it (`pmem/hook/attached.py`), and it ends with the
agent's process. Its socket, which that event made, lies in a directory named by the process's id.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pmem.hook import attached, client
from pmem.session import run_dir as run_dirs

if TYPE_CHECKING:
    from pmem.session.leash import Leash
    from pmem.session.process import SessionConfig


def main() -> NoReturn:
    """`… ROOT AGENT PID DIRECTORY`, the first event on stdin, the socket as descriptor 3.

    Never raises, tells nobody.
    """
    try:
        _, _, agent, pid, directory = sys.argv
        run(agent, int(pid), Path(directory), client.read_all(0))
    finally:
        os._exit(0)


def run(agent: str, pid: int, directory: Path, payload: bytes) -> None:
    """Serve the agent's session to its end."""
    from pmem.session.leash import Leash
    from pmem.session.process import complain

    state = None
    try:
        listener = socket.socket(fileno=3)
        token = (directory / attached.TOKEN).read_text()
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
