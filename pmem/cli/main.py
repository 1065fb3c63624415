"""The command `pmem`: a group whose commands are imported only when they are called.

Starting a program under memory is on the way of every session, so nothing is imported here
but click and what each command needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any, NoReturn

import click

from pmem import __version__
from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import start_options, start_options_given

#: Where each command lives, in the order in which the help shows them.
COMMANDS = {
    "run": "pmem.cli.run",
    "shell": "pmem.cli.run",
    "proxy": "pmem.cli.proxy",
    "attach": "pmem.cli.attach",
    "detach": "pmem.cli.attach",
    "agent": "pmem.cli.agent",
    "bank": "pmem.cli.bank",
    "review": "pmem.cli.review",
    "log": "pmem.cli.log",
    "status": "pmem.cli.status",
    "report": "pmem.cli.report_page",
    "export": "pmem.cli.export",
    "mute": "pmem.cli.mute",
    "wrong": "pmem.cli.mute",
    "replay": "pmem.cli.replay",
    "eval": "pmem.cli.eval",
    "train": "pmem.cli.train",
    "doctor": "pmem.cli.doctor",
    "config": "pmem.cli.config",
    "trust": "pmem.cli.trust",
    "demo": "pmem.cli.demo",
    "init": "pmem.cli.init",
    "on": "pmem.cli.init",
    "off": "pmem.cli.init",
}
#: Set where a shell asks click what a line could go on with; click ends the process then.
COMPLETING = "_PMEM_COMPLETE"
#: Commands that start something and take the options of `run`.
STARTING = frozenset({"run", "shell", "proxy", "agent"})


class Commands(click.Group):
    """The commands by name; the name of a known agent is a command too."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of use, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; an agent's name becomes `run AGENT`."""
        module = COMMANDS.get(cmd_name)
        if module is not None:
            command: click.Command = getattr(import_module(module), cmd_name)
            return command
        from pmem.cli.run import agent_command

        return agent_command(cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands, and the agents that are installed, which are commands too.

        By their names alone: a command's help would have to be imported.
        """
        from pmem.cli.completion import complete_name

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return complete_name(ctx, COMMANDS, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a name nobody knows, say how to run it under memory."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is not None or ctx.resilient_parsing:
            return name, command, args[1:]
        if name.startswith("-"):
            raise click.NoSuchOption(name, ctx=ctx)
        raise click.UsageError(_unknown(name), ctx=ctx)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="COMMAND [ARGS]…",
    epilog="""\b
Examples:
  pmem                     start the agent found on this machine, or the shell
  pmem claude -p "fix it"  Claude Code under memory, with its own arguments
  pmem run -- make test    any other program
  pmem shell               your own shell under memory
  pmem bank list           what is remembered here

The name of a known agent is a command: `pmem claude ARGS…` equals `pmem run claude ARGS…`.

PMEM=off switches everything off. PMEM_DEBUG=1 shows a traceback where pmem itself fails.""",
)
@click.version_option(__version__, "-V", "--version", message="pmem %(version)s")
@start_options
@click.pass_context
def pmem(ctx: click.Context, /, **given: Any) -> int | None:
    """Run a terminal coding agent, or your shell, under a memory that speaks only when a
    remembered fact bears on the next action.

    Without COMMAND: starts the one agent CLI found here, asks if there are several, and starts
    the shell if there is none.
    """
    options = start_options_given(given)
    name = ctx.invoked_subcommand
    if name is None:
        from pmem.cli.run import start_anything

        return start_anything(ctx.obj, options)
    if name in COMMANDS and name not in STARTING:
        wrong = [key for key, value in given.items() if value and key != "directory"]
        if wrong:
            flag = wrong[0].replace("_", "-")
            raise click.UsageError(f"--{flag} is for starting a program, not for '{name}'", ctx)
        if options.directory:
            ctx.obj = ctx.obj._replace(env={**ctx.obj.env, "PMEM_DIR": options.directory})
    ctx.meta["pmem.start"] = options
    return None


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1, cutoff=0.6)
    if near:
        return f"there is no command '{name}'; did you mean 'pmem {near[0]}'?"
    return f"there is no command '{name}'; to run a program of that name: pmem run -- {name}"


def run(args: Sequence[str], environment: Environment) -> int:
    """Carry out one command line and return the exit code; never raises."""
    try:
        with redirect_stdout(environment.stdout):  # where click prints its help
            result = pmem.main(list(args), "pmem", standalone_mode=False, obj=environment)
        environment.stdout.flush()
        return int(result or 0)
    except Trouble as trouble:
        environment.say(str(trouble))
        return int(trouble.code)
    except click.UsageError as error:
        environment.say(_usage(error))
        return Exit.USAGE
    except click.ClickException as error:
        environment.say(error.format_message())
        return Exit.OURS
    except (click.Abort, KeyboardInterrupt):
        if not environment.env.get("PMEM_DEBUG"):  # what is half made complains when it is let go
            sys.unraisablehook = lambda _: None
        return Exit.INTERRUPTED
    except (BrokenPipeError, SystemExit) as ended:  # click makes an exit of a broken pipe
        if COMPLETING in environment.env and isinstance(ended, SystemExit):
            return int(ended.code or 0)
        _stop_writing()
        return Exit.BROKEN_PIPE
    except OSError as error:
        if environment.env.get("PMEM_DEBUG"):
            raise
        where = f"{error.filename}: " if error.filename else ""
        environment.say(f"{where}{error.strerror or error}; PMEM_DEBUG=1 shows where")
        return Exit.OURS
    except Exception as error:
        if environment.env.get("PMEM_DEBUG"):
            raise
        words = " ".join(str(error).split()) or type(error).__name__
        environment.say(f"{words}; PMEM_DEBUG=1 shows where")
        return Exit.OURS


def _usage(error: click.UsageError) -> str:
    words = " ".join(error.format_message().split()).rstrip(".")
    words = words[:1].lower() + words[1:]
    if ";" in words or error.ctx is None:
        return words
    return f"{words}; see '{error.ctx.command_path} --help'"


def _stop_writing() -> None:
    """The reader of stdout is gone: what is still buffered must not raise again at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)


def main() -> NoReturn:
    """The entry point; the interpreter is not taken apart at the end, which would be felt."""
    code = run(sys.argv[1:], Environment.of_process())
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
