"""What is started under memory, and whether it is: an agent, a shell, any program."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.join import around, join, under_memory
from pmem.cli.options import StartOptions
from pmem.cli.program import become, find_program
from pmem.cli.project import project_of, settings_of
from pmem.cli.start import Line, Program, start
from pmem.terminal.shell_files import SHELLS

#: Set where only a name was typed in a shell: another program may have it too.
TYPED = "PMEM_TYPED"
#: Set by `pmem on`: a shell without memory would be of no use.
BACK = "PMEM_BACK"
#: Values of PMEM that switch everything off.
OFF = frozenset({"off", "0", "no", "false"})
#: How much longer than the model a hook waits in sync mode, in seconds.
SYNC_MARGIN = 2.0
#: How long a shell waits for memory, in seconds: what is typed ahead may already be prohibited.
SHELL_PATIENCE = 0.5


def launch(
    environment: Environment,
    command: Sequence[str],
    options: StartOptions,
    agent: str | None = None,
    patience: float = 0.0,
) -> int:
    """Run a program under memory and return its exit code.

    `agent` names the adapter where the program's name does not. With `patience` (seconds) agent
    and memory wait for each other, as a demonstration on a busy machine must. Raises Trouble
    (125 to 127) if nothing was started.
    """
    from pmem.agents import registry

    agent = agent or registry.known(command[0])
    command = located(environment, command, agent)
    if environment.env.get(TYPED):
        env = {name: value for name, value in environment.env.items() if name != TYPED}
        environment = environment._replace(env=env)
        found = find_program(command[0], env, environment.cwd)
        if not registry.surely(agent, environment.cwd / found):
            become(command, env, environment.cwd)
    session = around(environment.env)
    if agent != "generic" and session is not None and not wanted_off(environment):
        for name in options.flags().keys() - {"quiet"} | ({"via"} if options.via else set()):
            environment.say(f"it joins the session around it; --{name} has no effect on that")
        patience = max(patience, waiting(environment, options))
        if agent in registry.BY_PROXY:
            from pmem.cli.proxied import by_proxy

            program = by_proxy(environment, command, agent, options, patience)
        else:
            program = known_agent(command, agent, patience)
        return join(environment, session, program)
    if switched_off(environment, command[0], options):
        become(command, environment.env, environment.cwd)
    if agent == "generic" and options.via is None:
        return start(environment, options, unknown_program(command))
    patience = max(patience, waiting(environment, options))
    if options.via is not None or agent in registry.BY_PROXY:
        from pmem.cli.proxied import by_proxy

        return start(environment, options, by_proxy(environment, command, agent, options, patience))
    return start(environment, options, known_agent(command, agent, patience))


def waiting(environment: Environment, options: StartOptions) -> float:
    """How long a hook may have to wait for a model, in seconds: 0 but in sync mode.

    A model that is yet to be offered counts.
    """
    project = project_of(environment, options.directory, code=Exit.OURS)
    settings = settings_of(environment, project, options.flags(), code=Exit.OURS)
    if settings.mode != "sync" or settings.arm == "off":
        return 0.0
    if settings.arm == "rules":
        from pmem.cli.found_key import offer_for

        if offer_for(environment.env) is None:
            return 0.0
    return settings.timeout + SYNC_MARGIN


def located(environment: Environment, command: Sequence[str], agent: str) -> Sequence[str]:
    """The command line, with the program's path where it is an agent that is not on PATH.

    Raises Trouble (126, 127) if it can be found nowhere.
    """
    try:
        find_program(command[0], environment.env, environment.cwd)
    except Trouble:
        if agent == "generic" or os.sep in command[0]:
            raise
        from pmem.agents import registry

        place = registry.ADAPTERS[agent].find(environment.env)
        if place is None:
            raise
        return [os.fspath(place), *command[1:]]
    return command


def unknown_program(command: Sequence[str]) -> Program:
    """Any program: its command line stays as it is."""
    name = os.path.basename(command[0])  # noqa: PTH119
    remark = f"{name} tells pmem nothing, it runs as it is"
    if len(command) == 1 and name in SHELLS:
        remark = f"{name} runs as it is; pmem shell --shell {name} records what is entered"
    line = Line(command, remark=remark)
    return Program(command, name, lambda run_dir, nonce: line, tells=False)


def known_agent(command: Sequence[str], agent: str, patience: float = 0.0) -> Program:
    """An agent that has an adapter: it is told how to reach the session."""
    name, *args = command

    def prepare(run_dir: Path, nonce: str) -> Line:
        from pmem.agents.protocol import HookLine
        from pmem.agents.registry import ADAPTERS
        from pmem.hook.line import HOOKED, WAIT, hook_command

        hook = HookLine(
            hook_command(agent, seconds=patience or None), timeout=max(10, round(patience) + 5)
        )
        made = ADAPTERS[agent].launch(name, args, hook, run_dir)
        waits = {WAIT: f"{patience:g}"} if patience else {}
        env = {**made.env, HOOKED: agent, **waits}
        return Line(made.argv, env, made.remark, made.after)

    return Program(command, agent, prepare, patience=patience)


def launch_shell(
    environment: Environment, name: str | None, options: StartOptions, *, login: bool = False
) -> int:
    """Start a shell under memory and return its exit code. Raises Trouble as `launch` does."""
    if not environment.terminal:
        raise Trouble(
            "there is no terminal for a shell",
            "to run a script under memory: pmem run -- sh FILE",
            Exit.USAGE,
        )
    back = environment.env.get(BACK)
    if name is None or back:
        project = project_of(environment, options.directory, code=Exit.OURS)
        settings = settings_of(environment, project, code=Exit.OURS)
        if back and (settings.off or wanted_off(environment)):
            raise Trouble("memory is switched off here", "pmem config off says why", Exit.USAGE)
        name = name or settings.shell or None
    shell = name or environment.env.get("SHELL") or "/bin/sh"
    find_program(shell, environment.env, environment.cwd)
    if switched_off(environment, shell, options):
        become([shell, "-l"] if login else [shell], environment.env, environment.cwd)

    def prepare(run_dir: Path, nonce: str) -> Line:
        from pmem.agents.registry import TYPED
        from pmem.terminal.shell import shell_command, shell_kind

        argv, env = shell_command(name, environment.env, run_dir, nonce, login=login, agents=TYPED)
        mute = f"{Path(argv[0]).name} tells pmem nothing (bash, zsh and fish do), it runs as it is"
        return Line(argv, env, "" if shell_kind(argv[0]) else mute)

    program = Program([shell], Path(shell).name, prepare, marks=True, patience=SHELL_PATIENCE)
    return start(environment, options, program)


def switched_off(environment: Environment, name: str, options: StartOptions) -> bool:
    """Whether memory is off for this run, or on already around it (which is said)."""
    if wanted_off(environment):
        return True
    if under_memory(environment.env):
        if not options.quiet:
            environment.say(f"already under memory here; {Path(name).name} runs as it is")
        return True
    return False


def wanted_off(environment: Environment) -> bool:
    """Whether the user has switched everything off by PMEM."""
    return environment.env.get("PMEM", "").strip().lower() in OFF
