"""`pmem init SHELL`: the line for an rc file; and `pmem on`, `pmem off`, which it makes."""

from __future__ import annotations

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.terminal.shell_files import SHELLS, definitions

#: What to write into an rc file: silent, and no slower, where pmem is not there (any more).
LINES = {
    "bash": 'if command -v pmem >/dev/null; then eval "$(pmem init bash)"; fi',
    "zsh": 'if command -v pmem >/dev/null; then eval "$(pmem init zsh)"; fi',
    "fish": "command -q pmem; and pmem init fish | source",
}


@click.command(
    short_help="Print the line that gives a shell `pmem on` and completion.",
    epilog="""\b
In ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish:
  if command -v pmem >/dev/null; then eval "$(pmem init bash)"; fi
  if command -v pmem >/dev/null; then eval "$(pmem init zsh)"; fi
  command -q pmem; and pmem init fish | source

\b
Then, in any terminal:
  pmem on   go on in a recorded shell, here and with what is defined here
  pmem off  and back

pmem writes into no rc file. Completion of pmem's own commands comes along.""",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def init(environment: Environment, shell: str) -> None:
    """Print what SHELL has to read for `pmem on` and `pmem off`; nothing is changed.

    It is optional: `pmem shell` and `pmem AGENT` need none of it.
    """
    environment.stdout.write(definitions(shell))


@click.command(
    short_help="Go on in a recorded shell (needs the line of pmem init).",
    context_settings={"ignore_unknown_options": True},
    options_metavar="",
)
@click.argument("options", metavar="[OPTIONS]", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def on(environment: Environment, options: tuple[str, ...]) -> None:
    """Record this terminal from now on: its shell goes on under memory, where it is.

    Takes the options of `pmem shell`. Needs the line of `pmem init` in this shell, since no program
    can do this to the shell it is called from.
    """
    raise _not_read(environment)


@click.command(short_help="Leave the recorded shell (needs the line of pmem init).")
@click.pass_obj
def off(environment: Environment) -> None:
    """End the recording that `pmem on` began, and go on where it was said.

    The shell keeps the directory; its history has what was entered meanwhile.
    """
    raise _not_read(environment)


def _not_read(environment: Environment) -> Trouble:
    name = environment.env.get("SHELL", "").rpartition("/")[2]
    line = LINES.get(name, LINES["bash"])
    return Trouble(
        "this shell has not read the line of pmem init",
        f"enter it, or write it into your rc file: {line}",
        Exit.USAGE,
    )
