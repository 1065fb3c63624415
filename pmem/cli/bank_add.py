"""`pmem bank add`: one fact by hand, with the watch that says when to tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from pmem.cli.environment import Environment
from pmem.cli.options import directory_option
from pmem.cli.project import opened_bank
from pmem.core.bank import MemoryBank, SaveKnowledge, normal_id
from pmem.core.redact import redact

F = TypeVar("F", bound=Callable[..., Any])

#: A longer text is no fact; it belongs into a file of its own.
MAX_TEXT = 4000

#: The options of a watch: option, key of bank.toml, help. All may be repeated.
GLOBS = (
    ("--command", "command", "A command about to run, each part of a compound one."),
    ("--writes", "writes", "A file about to be changed."),
    ("--path", "path", "A file about to be named or changed."),
    ("--output", "output", "What an action just printed."),
    ("--not", "not", "The same action in a form that is fine."),
    ("--unless-ran", "unless_ran", "Quiet if such a command has succeeded since --since."),
)


def watch_options(command: F) -> F:
    """The whole watch language as options."""
    others = (
        click.option("--finish", is_flag=True, help="The end of the turn."),
        click.option("--cwd", metavar="GLOB", help="Only in such a directory."),
        click.option(
            "--since",
            metavar="edit|ever|edit:PATH",
            help="Since when --unless-ran counts; default: the last edit.",
        ),
        click.option("--failed-before", is_flag=True, help="Only what failed before."),
        click.option("--times", type=click.IntRange(min=1), metavar="N", help="Tell it N times."),
        click.option(
            "--until-step", type=click.IntRange(min=1), metavar="N", help="Not after step N."
        ),
    )
    for option in reversed(others):
        command = option(command)
    for flag, key, words in reversed(GLOBS):
        command = click.option(flag, f"{key}_", metavar="GLOB", multiple=True, help=words)(command)
    return command


@click.command(
    short_help="Remember a fact, and when it matters.",
    epilog="""\b
Examples:
  pmem bank add "Never force-push." --command "git push *--force*"
  pmem bank add "Lint first." --command "git commit*" --unless-ran "*lint*"
  pmem bank add "Generated; edit the .proto instead." --writes "api/*_pb2.py"
  pmem bank add "The staging database is read-only." --tag staging

A watch (--command, --writes, --path, --output, --finish) lets the fact be told at that very
moment. Without one it is told when the memory agent finds that it matters. Globs: * ? [seq].""",
)
@click.argument("text")
@click.option("--id", "id", metavar="ID", help="Its name; one that exists is updated.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; may be repeated.")
@watch_options
@directory_option
@click.pass_obj
def add(
    environment: Environment,
    /,
    text: str,
    id: str | None,
    tags: tuple[str, ...],
    directory: str | None,
    **watch: Any,
) -> None:
    """Remember TEXT (or what stands on stdin, for -), and say when it matters."""
    if text == "-":
        text = environment.stdin.read()
    text = text.strip()
    if not text:
        raise click.BadParameter("there is nothing to remember in it", param_hint="TEXT")
    if len(text) > MAX_TEXT:
        raise click.BadParameter(
            f"{len(text)} characters are too many for one fact (at most {MAX_TEXT}); "
            "keep it in a file and remember the file's name",
            param_hint="TEXT",
        )
    when = watch_table(watch)
    given, text = text, redact(text)
    with opened_bank(environment, directory, change=True) as bank_file:
        name = _named(id) if id else free_id(bank_file.bank, text)
        known = bank_file.bank.get(name)
        bank_file.apply([SaveKnowledge(name, text, tags, source="user", when=when)])
    if text != given:
        environment.say("a value that looks like a secret was taken out of the text")
    environment.say(f"{'updated' if known else 'remembered'} {name}")


def watch_table(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options as a `when` table of bank.toml, None if there is no watch.

    Raises click.UsageError with the sentence of the watch language for what does not hold.
    """
    from pmem.core.watch import parse_watch

    when: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or value is False or value == ():
            continue
        if isinstance(value, tuple):
            value = value[0] if len(value) == 1 else list(value)
        when[name.rstrip("_")] = value
    if not when:
        return None
    try:
        parse_watch(when)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return when


def free_id(bank: MemoryBank, text: str) -> str:
    """An id from the first words of a text that no entry has."""
    try:
        base = normal_id(" ".join(text.split()[:5]))[:32].rstrip("-._")
    except ValueError:
        base = "note"
    id, n = base, 1
    while bank.get(id) is not None:
        n += 1
        id = f"{base}-{n}"
    return id


def _named(id: str) -> str:
    try:
        return normal_id(id)
    except ValueError:
        raise click.BadParameter(f"{id!r} has no letter or digit", param_hint="--id") from None
