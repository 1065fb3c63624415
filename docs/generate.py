"""Writes what the documents tell of the code from the code itself: `make docs`.

That is docs/commands.md, and the table of rules in docs/rules.md. `python docs/generate.py --check`
writes nothing and ends 1 if one of them is stale.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pmem.cli.main import pmem
from pmem.memory.rules import LADDER

COMMANDS = Path(__file__).parent / "commands.md"
RULES = Path(__file__).parent / "rules.md"
#: What is generated within a page stands between two such lines.
BEGIN, END = "<!-- rules: written by make docs -->\n", "<!-- end of rules -->\n"
HEAD = """\
# Commands

Written by `make docs` from `pmem --help` and its like; do not edit by hand.

Data goes to stdout, words to stderr. `pmem` ends with the code of the program it ran (128 + signal
if one ended it), else 0; 1 where what was asked for is not there; 2 for a command line that cannot
be used; 125 where pmem itself failed; 126 for a program that cannot be executed; 127 for one that
is not there.
"""


def commands(command: click.Command, ctx: click.Context) -> Iterator[tuple[click.Context, str]]:
    """A command and everything below it, each with its full name."""
    yield ctx, ctx.command_path
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            if below is not None and not below.hidden:
                yield from commands(below, click.Context(below, info_name=name, parent=ctx))


def pages() -> dict[Path, str]:
    """The pages as they should stand."""
    before, _, rest = RULES.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    return {COMMANDS: command_page(), RULES: f"{before}{BEGIN}{rule_table()}{END}{after}"}


def rule_table() -> str:
    """The rules in their order, each with the first paragraph of its module."""
    rows = []
    for rule in LADDER:
        words = (inspect.getdoc(sys.modules[rule.look.__module__]) or "").partition("\n\n")[0]
        rows.append(f"| `{rule.name}` | {cell(words)} |\n")
    return "| rule | speaks of |\n|---|---|\n" + "".join(rows)


def command_page() -> str:
    """The page of all commands."""
    ctx = click.Context(pmem, info_name="pmem")
    return "\n".join([HEAD, *(section(ctx, name) for ctx, name in commands(pmem, ctx))])


def section(ctx: click.Context, name: str) -> str:
    """One command: how it is called, what it does, its options, its examples."""
    command = ctx.command
    arguments = [argument(p) for p in command.params if isinstance(p, click.Argument)]
    if isinstance(command, click.Group):
        arguments.append("COMMAND [ARGS]…")
    usage = " ".join([name, command.options_metavar or "", *arguments])
    parts = [f"{'##' if name.count(' ') < 2 else '###'} {name}", f"`{usage}`"]
    parts += paragraphs(command.help or "")
    rows = [option(p) for p in command.params if isinstance(p, click.Option) and not p.hidden]
    if rows:
        parts.append("\n".join(["| option | |", "|---|---|", *rows]))
    parts += paragraphs(command.epilog or "")
    return "\n\n".join(parts) + "\n"


# What follows is told from the parameters themselves, since the layout of click's own help differs
# from one release of it to the next.


def argument(parameter: click.Argument) -> str:
    """An argument as the usage line names it."""
    name = parameter.metavar or (parameter.name or "").upper()
    if parameter.nargs != 1 and not name.endswith("…"):
        name += "…"
    return name if parameter.required else f"[{name}]"


def option(parameter: click.Option) -> str:
    """An option as a row of the table."""
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    value = ""
    if not (parameter.is_flag or parameter.count):
        choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
        value = " " + (parameter.metavar or "|".join(map(str, choices)) or "TEXT")
    return f"| `{cell(names + value)}` | {cell(parameter.help or '')} |"


def paragraphs(text: str) -> list[str]:
    r"""Paragraphs of a help text; one that click is told not to wrap (\b) becomes a code block."""
    found = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text).replace("\f", "")):
        if part.startswith("\b"):
            head, _, lines = part.lstrip("\b\n").partition("\n")
            found.append(f"{head.strip()}\n\n```sh\n{inspect.cleandoc(lines)}\n```")
        elif part.strip():
            found.append(" ".join(part.split()))
    return found


def cell(text: str) -> str:
    """Text that does not break a table."""
    return " ".join(text.split()).replace("|", "\\|")


def main(argv: list[str]) -> int:
    """Write the pages, or check them."""
    stale = [
        path
        for path, text in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in argv:
        return int(bool(stale))
    for path in stale:
        path.write_text(pages()[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
