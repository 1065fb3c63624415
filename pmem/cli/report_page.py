"""`pmem report`: what a session, or all of them, came to, on one page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option, json_option
from pmem.cli.project import project_of

if TYPE_CHECKING:
    from pmem.review.account import Account
    from pmem.store.project import Project


@click.command(
    short_help="Write a page on a session, or on all.",
    epilog="""\b
Examples:
  pmem report -o report.html             the newest session here
  pmem report 20261130-114207 -o r.html  another one
  pmem report --all -o all.html          all of this project, added up
  pmem report --all --json               the figures alone

The page is one file that loads nothing from anywhere; it suits a light and a dark screen, and
paper. Whether a reminder helped is a guess from the steps that followed, and is told as one.""",
)
@click.argument("session", required=False)
@click.option("--all", "everything", is_flag=True, help="Over all sessions of the project.")
@click.option("--output", "-o", metavar="FILE", help="Where to write it; - is stdout.")
@json_option
@directory_option
@click.pass_obj
def report(
    environment: Environment,
    session: str | None,
    everything: bool,
    output: str | None,
    as_json: bool,
    directory: str | None,
) -> None:
    """Write a page on SESSION (by default the newest one here): what memory said, and what came
    of it."""
    from pmem.cli.log import nothing_recorded, session_folder, the_session
    from pmem.cli.tables import write_json
    from pmem.review.account import in_words

    if session and everything:
        raise click.UsageError("name a session, or say --all")
    if output is None and not as_json and environment.stdout_isatty:
        raise click.UsageError("name the file to write: pmem report -o FILE.html")
    project = project_of(environment, directory)
    if everything:
        accounts = list(all_accounts(project))
    else:
        accounts = [_account(session_folder(the_session(environment, project, session)))]
    if not accounts:
        raise nothing_recorded()
    if as_json:
        write_json(environment, in_words(accounts))
        return
    from pmem.review import html

    name = project.root.name
    page = html.of_all(name, accounts) if everything else html.of_session(name, accounts[0])
    write_out(environment, output, page)


def _account(folder: Path) -> Account:
    from pmem.review.account import account
    from pmem.review.recorded import opened

    return account(opened(folder))


def all_accounts(project: Project) -> Iterator[Account]:
    """The accounts of all sessions in which something happened, newest first."""
    from contextlib import suppress

    from pmem.store.sessions import list_sessions

    for info in list_sessions(project):
        if info.steps:
            with suppress(FileNotFoundError):  # removed this very moment
                yield _account(info.path)


def write_out(environment: Environment, output: str | None, text: str) -> None:
    """Write to a file, or to stdout. Raises Trouble if that cannot be done."""
    if output in (None, "-"):
        environment.stdout.write(text)
        return
    path = environment.cwd / Path(str(output)).expanduser()
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Trouble(
            f"cannot write {path}: {error.strerror or error}",
            "name another file with -o",
            Exit.OURS,
        ) from None
    environment.say(f"written: {path}")
