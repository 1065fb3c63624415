"""`pmem review`: sessions, steps, decisions and the bank in a browser on the terminal."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option
from pmem.cli.project import opened_bank

if TYPE_CHECKING:
    from pmem.store.sessions import SessionInfo


@click.command(
    short_help="Browse sessions, decisions and the bank.",
    epilog="""\b
Examples:
  pmem review                  the newest session here
  pmem review 20261130-114207  another one, by (the beginning of) its id
  pmem review --step 41        why did it say that, at step 41?

Keys are those of less and vim, with arrows and the mouse; ? shows them all. It may stay open
while a session runs: what is new appears, and what you change is there for the next step.""",
)
@click.argument("session", required=False)
@click.option("--step", type=click.IntRange(min=1), metavar="N", help="Begin at step N.")
@directory_option
@click.pass_obj
def review(
    environment: Environment, session: str | None, step: int | None, directory: str | None
) -> None:
    """Browse what was done, what memory decided and why, and the bank, which can be edited."""
    if not environment.terminal:
        raise Trouble("review needs a terminal", "pmem log and pmem report do not", Exit.USAGE)
    if environment.env.get("TERM") == "dumb":
        raise Trouble(
            "review needs a terminal that it can draw on, and TERM is dumb",
            "pmem log and pmem report do not",
            Exit.USAGE,
        )
    from pmem.cli.log import find_session, session_folder
    from pmem.review.browser import Browser
    from pmem.review.desk import Desk
    from pmem.review.view import View
    from pmem.store.bank_file import BankFile
    from pmem.store.sessions import list_sessions, of_session, session_info

    with opened_bank(environment, directory, blind=True) as bank_file:
        project = bank_file.project
        sessions = list_sessions(project)
        place = find_session(environment, project, session, follow=False)
        own: dict[str, Desk] = {}

        def own_bank(info: SessionInfo) -> Desk | None:
            found = of_session(project, info.id)
            if info.id not in own and found.bank.exists():
                own[info.id] = Desk(BankFile(found))
            return own.get(info.id)

        view = View(project.root.name, sessions, Desk(bank_file), own_bank)
        if place is not None:
            view.open(session_info(session_folder(place)), step)
        Browser(
            view,
            lambda text: _edited(environment, text),
            colour=environment.colour(environment.stdout),
        ).run()


def _edited(environment: Environment, text: str) -> str | None:
    """The text as the person's editor left it, None if it is as it was."""
    from pmem.cli.bank_edit import find_editor, run_editor

    with tempfile.TemporaryDirectory(prefix="pmem-edit-") as folder:
        draft = Path(folder) / "entry.toml"
        draft.write_text(text, encoding="utf-8")
        try:
            run_editor(environment, find_editor(environment.env), draft)
            new = draft.read_text(encoding="utf-8-sig")
        except (Trouble, UnicodeDecodeError, OSError) as error:
            raise ValueError(str(error)) from None
    return new if new != text else None
