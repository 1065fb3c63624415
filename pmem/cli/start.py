"""How a session begins and ends around a program: project, settings, session process, its lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit
from pmem.cli.options import StartOptions, read_task
from pmem.cli.program import become
from pmem.cli.project import project_of, settings_of

if TYPE_CHECKING:
    from pmem.session.process import SessionConfig


class Line(NamedTuple):
    """A command line to run, what it adds to the environment, a remark for the user.

    `beside` starts what runs beside it, given how the session is reached; `after` is done when
    the program has ended, before the session's directory goes away.
    """

    argv: Sequence[str]
    env: Mapping[str, str] = MappingProxyType({})
    remark: str = ""
    after: Callable[[], None] | None = None
    beside: Callable[[Mapping[str, str]], None] | None = None


class Program(NamedTuple):
    """What to start: `command` as it was typed, `agent` the name for the session's log.

    `prepare` makes the line to run from the session's private directory and a nonce; it raises
    ValueError with a sentence where that cannot be. `marks` says that it is a shell which will
    tell its commands by marks with that nonce; `tells` that pmem hears of its actions at all.
    With `patience` (seconds) it is started only when memory is ready.
    """

    command: Sequence[str]
    agent: str
    prepare: Callable[[Path, str], Line]
    marks: bool = False
    patience: float = 0.0
    tells: bool = True


def start(environment: Environment, options: StartOptions, program: Program) -> int:
    """Start the session process, then the program, and tell at the end what happened.

    The program never waits for memory: if the session cannot start, it runs without it.
    """
    config = configure(environment, options, program)
    if config is None:
        become(program.command, environment.env, environment.cwd)
    from pmem.cli.relayed import Told, beside, run
    from pmem.cli.report import Report
    from pmem.session.process import start as start_session

    if not environment.terminal:  # what is imported after the fork costs more, in both processes
        import pmem.terminal.plain  # noqa: F401
    recorder = None
    if config.settings.record:
        from pmem.cli import recording

        config, recorder = recording.begin(environment, config)
    try:
        running = start_session(config, environment.env)
    except OSError as error:
        environment.say(f"no memory this time: {error.strerror or error}")
        become(program.command, environment.env, environment.cwd)
    report = Report(environment, config, running.link)
    nonce = os.urandom(8).hex()
    try:
        line = program.prepare(running.run_dir, nonce)
    except ValueError as error:
        running.link.close()
        environment.say(f"no memory this time: {error}")
        become(program.command, environment.env, environment.cwd)
    quiet = options.quiet or config.settings.quiet
    if program.patience:
        running.link.wait_ready(program.patience)
    if environment.stderr_isatty and not quiet:
        report.start_line(line.remark)
    told = Told(
        nonce if program.marks else None,
        config.settings.patience,
        recorder,
        beside(environment, config.settings, running.link),
    )
    if line.beside is not None:
        line.beside(running.env)
    code = run(environment, running, line, told)
    if line.after is not None:
        line.after()
    report.end(code)
    if environment.stderr_isatty and not quiet:
        report.end_line()
    if recorder is not None:
        recording.end(environment, recorder, quiet=quiet)
    return code


def configure(
    environment: Environment, options: StartOptions, program: Program
) -> SessionConfig | None:
    """Project, settings and task of the session to start; None where settings switch it off."""
    from pmem.session.process import SessionConfig

    project = project_of(environment, options.directory, code=Exit.OURS)
    settings = settings_of(environment, project, options.flags(), code=Exit.OURS)
    if settings.off:
        return None
    if not (options.quiet or settings.quiet):
        for remark in settings.remarks:
            environment.say(remark)
        if project.remark and environment.stderr_isatty:
            environment.say(project.remark)
        if environment.terminal and program.tells and not project.state.exists():
            offer_the_past(environment)
    quiet = bool(options.quiet or settings.quiet)
    if settings.arm == "rules" and program.tells and not quiet:
        from pmem.cli.found_key import accepted

        if accepted(environment, project, settings):
            settings = settings_of(environment, project, options.flags(), code=Exit.OURS)
    if settings.arm not in ("off", "rules"):
        from pmem.cli.consent import settled

        yes = bool(options.yes)
        settings = settled(
            environment, project, settings, yes=yes, quiet=quiet, tells=program.tells
        )
    return SessionConfig(
        project=project,
        settings=settings,
        agent=program.agent,
        argv=tuple(program.command),
        cwd=environment.cwd,
        task=read_task(options.task, environment.cwd),
        tells=program.tells,
    )


def offer_the_past(environment: Environment) -> None:
    """The first time in a project: say that its past runs could be looked at, if there are any."""
    from pmem.agents.transcripts.here import any_at_a_glance

    if any_at_a_glance(environment.cwd, environment.env):
        environment.say("agents ran here before; what memory would have said: pmem replay --here")
