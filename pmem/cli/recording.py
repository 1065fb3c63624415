"""`--record`: what the terminal shows is kept beside the session's log."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from pmem.cli.environment import Environment

if TYPE_CHECKING:
    from pmem.session.process import SessionConfig
    from pmem.terminal.cast import CastRecorder


def begin(
    environment: Environment, config: SessionConfig
) -> tuple[SessionConfig, CastRecorder | None]:
    """The session with a directory that it has from the start, and the recorder in it.

    None, with a word to the user, where nothing can be recorded; the run goes on without.
    """
    if not environment.terminal:
        if config.settings.sources.get("record") == "--record":
            environment.say("there is no terminal, so nothing is recorded")
        return config, None
    from pmem.store.session_log import new_session_id
    from pmem.terminal.cast import CAST, CastRecorder

    state = config.project.state
    config = config._replace(id=new_session_id(time.time(), config.agent, state))
    try:
        return config, CastRecorder(state / config.id / CAST, environment.env, config.argv)
    except OSError as error:
        environment.say(f"the terminal is not recorded: {error.strerror or error} ({state})")
        return config, None


def end(environment: Environment, recorder: CastRecorder, *, quiet: bool) -> None:
    """Close the recording, and say where it is."""
    recorder.close()
    if recorder.trouble:
        environment.say(recorder.trouble)
    elif environment.stderr_isatty and not quiet:
        environment.say(f"recorded · asciinema play {_short(recorder.path, environment)}")


def _short(path: Path, environment: Environment) -> str:
    home = environment.env.get("HOME", "")
    if home and path.is_relative_to(home):
        return f"~/{path.relative_to(home)}"
    return str(path)
