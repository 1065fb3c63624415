"""The relay: a program in a pty of its own, every byte passed both ways, nothing added.

One loop and no thread. Both sides are non-blocking with bounded queues, so that neither a
terminal that does not read nor a program that does not read ever stops the other direction.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pmem.terminal.loop import Relay
from pmem.terminal.outlet import Recorder
from pmem.terminal.signals import Signals
from pmem.terminal.spawn import CannotStart, spawn_in_pty
from pmem.terminal.tty import Terminal

if TYPE_CHECKING:
    from pmem.terminal.link import Link


def run_in_pty(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str | None = None,
    link: Link | None = None,
    nonce: str | None = None,
    *,
    recorder: Recorder | None = None,
    beside: Callable[[Mapping[str, Any]], bytes] | None = None,
    patience: float = 0.0,
    stdin: int = 0,
    stdout: int = 1,
) -> int:
    """Run a program in a pty under this terminal until it ends.

    Returns its exit code, 128 + n if signal n ended it, 127 or 126 (with a word on stderr) if
    it cannot be started. With a `nonce` the program is a shell whose marks are turned into
    messages on `link` and taken out of the stream, and banners are put into it; `patience` is
    how long an answer may take, in seconds, where that is more than can be felt. `beside` is given
    the session's other messages; what it returns goes to the terminal between two sequences.
    """
    terminal = Terminal(stdin, stdout)
    try:
        with Signals() as signals:
            try:
                child = spawn_in_pty(argv, env, cwd, terminal.size, terminal.attributes)
            except CannotStart as problem:
                print(f"pmem: {problem}", file=sys.stderr)
                return problem.exit_code
            relay = Relay(terminal, signals, child, link, recorder, beside)
            if nonce is not None and link is not None:
                relay.watch_commands(link, nonce, patience)
            try:
                return relay.run()
            finally:
                relay.leave()
                child.close()
    finally:
        terminal.close()
