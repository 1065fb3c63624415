"""`pmem run`, `pmem shell`, `pmem AGENT`, and plain `pmem`: start something under memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from pmem.cli.completion import complete_command
from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import StartOptions, start_options, start_options_given

#: Who has one of these may let `pmem agent` work.
MODEL_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY")


class RunCommand(click.Command):
    """`pmem run CMD ARGS…`: behind CMD nothing is pmem's own."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """pmem's options only where they are read as such."""
        if ctx.params.get("command"):
            return complete_command(ctx, self, incomplete)
        return super().shell_complete(ctx, incomplete)


@click.command(
    cls=RunCommand,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] [--]",
    epilog="""\b
Examples:
  pmem run claude -p "make the tests pass"
  pmem run --task @TASK.md -- codex
  pmem run --arm off -- make test

Everything after CMD belongs to CMD; pmem's own options stand before it. pmem ends with CMD's exit
code (128 + signal if one ended it), with 125 if it failed itself, 126 if CMD cannot be executed,
127 if there is no such command.""",
)
@start_options
@click.argument(
    "command",
    metavar="CMD [ARGS]…",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    shell_complete=complete_command,
)
@click.pass_context
def run(ctx: click.Context, /, command: tuple[str, ...], **given: Any) -> int:
    """Run a program under memory.

    A known agent is observed and reminded through its own hooks, for this session only; any other
    program runs as it is. With a terminal it gets a pty of its own; without one it runs plainly.
    """
    from pmem.cli.launch import launch

    return launch(ctx.obj, command, _options(ctx, given))


@click.command(
    epilog="""\b
Examples:
  pmem shell
  pmem shell --shell bash --task "make the tests pass"

Every command you enter is a step. Leave as you leave any shell: exit, or ctrl-D.""",
)
@click.option("--shell", "name", metavar="NAME", help="bash, or the path of one; else $SHELL.")
@click.option("--login", "-l", is_flag=True, help="As a login shell: it reads the profile too.")
@start_options
@click.pass_context
def shell(ctx: click.Context, /, name: str | None, login: bool, **given: Any) -> int:
    """Start your own shell under memory.

    Your rc files, prompt and history are as ever; a reminder stands above the prompt, or before
    the output of the command it concerns.
    """
    from pmem.cli.launch import launch_shell

    return launch_shell(ctx.obj, name, _options(ctx, given), login=login)


class AgentCommand(click.Command):
    """`pmem AGENT ARGS…`: every argument is the agent's, `--help` and `--` included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse nothing."""
        ctx.params["args"] = tuple(args)
        return []

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Files; what else an agent takes is its own affair."""
        return complete_command(ctx, self, incomplete)


def agent_command(name: str) -> click.Command | None:
    """The command for a known agent's name, None for any other."""
    from pmem.agents.registry import ADAPTERS, known

    adapter = ADAPTERS[known(name)] if os.sep not in name else None
    if adapter is None or not adapter.tells:
        return None

    @click.pass_context
    def start(ctx: click.Context, args: tuple[str, ...]) -> int:
        from pmem.cli.launch import launch

        return launch(ctx.obj, [adapter.binary, *args], _options(ctx, {}))

    return AgentCommand(
        name,
        callback=start,
        add_help_option=False,
        help=f"Start {adapter.title} under memory; the same as `pmem run {name} ARGS…`.",
    )


def start_anything(environment: Environment, options: StartOptions) -> int:
    """Plain `pmem`: the one agent CLI there is, a choice among several, else the shell."""
    from pmem.cli.launch import launch, launch_shell

    if not environment.terminal:
        raise Trouble(
            "there is no terminal to start an agent in",
            "name what to run, as in: pmem run -- make test, pmem claude -p TEXT",
            Exit.USAGE,
        )
    program = choose(environment, options.directory)
    if program is None:
        return Exit.INTERRUPTED
    if program:
        return launch(environment, program, options)
    return launch_shell(environment, None, options)


def choose(environment: Environment, directory: str | None) -> Sequence[str] | None:
    """The command line of the agent to start, empty for the shell, None if nobody chose.

    The setting `agent` chooses among several.
    """
    from pmem.agents.registry import installed
    from pmem.cli.project import project_of, settings_of

    agents = installed(environment.env)
    if not agents:
        others = "pmem run CMD for others"
        if any(environment.env.get(key) for key in MODEL_KEYS):
            others += ', pmem agent "TASK" for the model whose key is set'
        environment.say(f"no agent CLI found here; starting your shell ({others})")
        return ()
    if len(agents) > 1:
        project = project_of(environment, directory, code=Exit.OURS)
        wanted = settings_of(environment, project, code=Exit.OURS).agent
        agents = [(a, path) for a, path in agents if a.name == wanted] or agents
    if len(agents) == 1:
        return (str(agents[0][1]),)
    from pmem.cli.picker import pick

    choices: list[tuple[Sequence[str], str]] = [
        ((str(path),), f"{adapter.title}  {path}") for adapter, path in agents
    ]
    choices.append(((), "your shell"))
    return pick("Start which one?", choices, colour=environment.colour(environment.stdout))


def _options(ctx: click.Context, given: dict[str, Any]) -> StartOptions:
    before: StartOptions = ctx.meta.get("pmem.start", StartOptions())
    return start_options_given(given).over(before)
