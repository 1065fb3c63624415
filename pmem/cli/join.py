"""An agent started inside something under pmem, mostly typed in its shell, joins that session.

Nothing is wrapped once more: the agent runs in the terminal that is there, and its hooks reach
the session by the environment around it. What names it there travels with the token.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pmem.cli.environment import Environment
from pmem.cli.program import become

if TYPE_CHECKING:
    from pmem.cli.start import Program

#: Set in everything that runs under memory.
ACTIVE, SOCKET, TOKEN = "PMEM_ACTIVE", "PMEM_SOCK", "PMEM_TOKEN"
HELLO = "hello"
#: How long a session may take to say that it is there, in seconds.
PATIENCE = 2.0


class Around(NamedTuple):
    """The session around this process: its socket, and the token without any agent's name."""

    socket: str
    token: str

    def greet(self, guest: str = "") -> bool:
        """Whether the session is there; with a name, it knows this guest from now on."""
        from pmem.hook.client import ask

        token = f"{self.token}@{guest}" if guest else self.token
        try:
            return ask(self.socket, token, HELLO, b"", PATIENCE) == HELLO.encode()
        except OSError:
            return False


def around(env: Mapping[str, str]) -> Around | None:
    """The session that `env` tells of, None if there is none, or none any more.

    A terminal multiplexer that was started under pmem outlives it, with its variables.
    """
    if not env.get(ACTIVE) or not env.get(SOCKET):
        return None
    found = Around(env[SOCKET], env.get(TOKEN, "").partition("@")[0])
    return found if found.greet() else None


def under_memory(env: Mapping[str, str]) -> bool:
    """Whether something already looks at what runs here."""
    return bool(env.get(ACTIVE)) and (not env.get(SOCKET) or around(env) is not None)


def join(environment: Environment, session: Around, program: Program) -> int:
    """Run an agent as a guest of the session around it; its exit code.

    Mostly this process becomes the agent. Raises Trouble (126, 127) if it cannot be started.
    """
    command = program.command
    guest = f"{program.agent}-{os.getpid()}"
    run_dir = Path(session.socket).parent / guest
    try:
        run_dir.mkdir(mode=0o700, exist_ok=True)
        line = program.prepare(run_dir, "")
    except (OSError, ValueError) as error:
        environment.say(f"no memory this time: {error}")
        become(command, environment.env, environment.cwd)
    session.greet(guest)
    if line.remark and environment.stderr_isatty:
        environment.say(line.remark)
    env = {**environment.env, **line.env, TOKEN: f"{session.token}@{guest}"}
    if line.beside is not None:
        line.beside(env)
    if line.after is None:
        become(line.argv, env, environment.cwd)
    from pmem.terminal.plain import run_plain

    code = run_plain(list(line.argv), env, os.fspath(environment.cwd))
    line.after()
    return code
