"""How a program comes to run under memory: project, settings, session process, pty or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit
from pmem.cli.options import StartOptions, read_task
from pmem.cli.program import become, find_program, refused

if TYPE_CHECKING:
    from pmem.agents.protocol import AgentAdapter, Launch
    from pmem.session.process import Running, SessionConfig

#: Set in everything that runs under memory: a pmem inside adds nothing.
ACTIVE = "PMEM_ACTIVE"

#: From the session's private directory and a nonce to the command line to start.
Prepare = Callable[[Path, str], "Launch"]


def launch(
    environment: Environment,
    command: Sequence[str],
    options: StartOptions,
    adapter: AgentAdapter | None = None,
) -> int:
    """Run a program under memory and return its exit code.

    `adapter` is given only where it is not the one that the program's name says. Raises Trouble
    (125 to 127) if nothing was started.
    """
    name, *args = command
    path = find_program(name, environment.env, environment.cwd)

    def bare() -> NoReturn:
        become(path, command, environment.env, environment.cwd)

    if switched_off(environment, name, options):
        bare()
    config = configure(environment, options, command)
    if config is None:
        bare()
    from pmem.agents import registry
    from pmem.agents.protocol import HookLine
    from pmem.hook.line import hook_command

    known = adapter or registry.get(name)

    def prepare(run_dir: Path, nonce: str) -> Launch:
        return known.launch(name, args, HookLine(hook_command(known.name)), run_dir)

    remark = "" if known.tells else f"{Path(name).name} tells pmem nothing, it runs as it is"
    return under_memory(environment, config, options, prepare, bare, remark)


def launch_shell(environment: Environment, name: str | None, options: StartOptions) -> int:
    """Start a shell under memory and return its exit code."""
    from pmem.agents.protocol import Launch
    from pmem.terminal.shell import shell_command

    shell = name or environment.env.get("SHELL") or "/bin/sh"
    path = find_program(shell, environment.env, environment.cwd)

    def bare() -> NoReturn:
        become(path, [shell], environment.env, environment.cwd)

    if switched_off(environment, shell, options):
        bare()
    config = configure(environment, options, [Path(shell).name])
    if config is None:
        bare()

    def prepare(run_dir: Path, nonce: str) -> Launch:
        argv, env = shell_command(name, environment.env, run_dir, nonce)
        return Launch(argv, env)

    return under_memory(environment, config, options, prepare, bare)


def switched_off(environment: Environment, name: str, options: StartOptions) -> bool:
    """Whether memory is off for this run, or on already around it (which is said)."""
    if environment.env.get("PMEM", "").lower() in ("off", "0"):
        return True
    if environment.env.get(ACTIVE):
        if not options.quiet:
            environment.say(f"already under memory here; {Path(name).name} runs as it is")
        return True
    return False


def configure(
    environment: Environment, options: StartOptions, command: Sequence[str]
) -> SessionConfig | None:
    """Project, settings and task of the session to start; None where settings switch it off."""
    from pmem.cli.project import project_of, settings_of
    from pmem.session.process import SessionConfig

    project = project_of(environment, options.directory, code=Exit.OURS)
    settings = settings_of(environment, project, options.flags())
    if settings.off:
        return None
    return SessionConfig(
        project=project,
        settings=settings,
        agent=Path(command[0]).name,
        argv=tuple(command),
        cwd=environment.cwd,
        task=read_task(options.task, environment.cwd),
    )


def under_memory(
    environment: Environment,
    config: SessionConfig,
    options: StartOptions,
    prepare: Prepare,
    bare: Callable[[], NoReturn],
    remark: str = "",
) -> int:
    """Start the session process, then the program, and tell at the end what happened.

    The program never waits for memory: if the session cannot start, it runs without it.
    """
    from pmem.session.process import start

    try:
        running = start(config, environment.env)
    except OSError as error:
        environment.say(f"no memory this time: {error.strerror or error}")
        bare()
    from secrets import token_hex

    from pmem.cli.report import Report

    report = Report(environment, config, running.link)
    nonce = token_hex(8)
    try:
        start_it = prepare(running.run_dir, nonce)
    except ValueError as error:
        environment.say(f"no memory this time: {error}")
        running.link.close()
        bare()
    quiet = options.quiet or config.settings.quiet
    if environment.stderr_isatty and not quiet:
        report.start_line(start_it.remark or remark)
    code = _run(environment, running, start_it, nonce)
    report.end(code)
    if environment.stderr_isatty and not quiet:
        report.end_line()
    return code


def _run(environment: Environment, running: Running, start_it: Launch, nonce: str) -> int:
    env = {**environment.env, **start_it.env, **running.env, ACTIVE: "1"}
    argv, cwd = list(start_it.argv), os.fspath(environment.cwd)
    try:
        if environment.terminal:
            from pmem.terminal.relay import run_in_pty

            return run_in_pty(argv, env, cwd, link=running.link, nonce=nonce)
        from pmem.terminal.plain import run_plain

        return run_plain(argv, env, cwd)
    except OSError as error:
        running.link.close()
        raise refused(argv[0], error) from None
