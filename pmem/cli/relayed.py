"""How a prepared line runs: in a pty with what stands around it, or plainly without a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from pmem.cli.environment import Environment
from pmem.cli.join import ACTIVE

if TYPE_CHECKING:
    from pmem.cli.start import Line
    from pmem.session.process import Running
    from pmem.store.settings import Settings
    from pmem.terminal.beside import Beside
    from pmem.terminal.link import Link
    from pmem.terminal.outlet import Recorder


class Told(NamedTuple):
    """What the relay is told: the nonce of a shell's marks, the patience for a banner in seconds,
    who gets a copy of what is shown, and who is given the session's other messages.
    """

    nonce: str | None = None
    patience: float = 0.0
    recorder: Recorder | None = None
    beside: Beside | None = None


def beside(environment: Environment, settings: Settings, link: Link) -> Beside | None:
    """Who tells beside a program what its own screen does not show; None without a terminal."""
    if not environment.terminal:
        return None
    from pmem.terminal.beside import Beside

    follow = [sys.executable or "python3", "-P", "-m", "pmem", "log", "-f", "--reminders"]
    told = Beside(environment.env, settings.pane, settings.notify, follow)
    if link.ready is not None:
        told(link.ready)
    return told


def run(environment: Environment, running: Running, line: Line, told: Told) -> int:
    """Run a line until it ends; its exit code."""
    env = {**environment.env, **line.env, **running.env, ACTIVE: "1"}
    argv = list(line.argv)
    cwd = os.fspath(environment.cwd) if environment.cwd.is_dir() else None
    if environment.terminal:
        from pmem.terminal.relay import run_in_pty

        return run_in_pty(
            argv,
            env,
            cwd,
            link=running.link,
            nonce=told.nonce,
            patience=told.patience,
            recorder=told.recorder,
            beside=told.beside,
        )
    from pmem.terminal.plain import run_plain

    return run_plain(argv, env, cwd)
