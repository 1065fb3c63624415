"""`pmem bank check`: whether the file can be read, its watches armed, its facts relied on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit
from pmem.cli.options import directory_option, json_option
from pmem.cli.project import opened_bank, project_of

if TYPE_CHECKING:
    from pmem.store.project import Project


@click.command(
    short_help="Find what is broken or stale in the bank.",
    epilog="""\b
Examples:
  pmem bank check
  pmem bank check --prune    forget what is stale
  pmem bank check --secrets  keys and passwords in the bank or in session logs

Stale is an entry whose cited file has changed or is gone, and one that a later success
contradicts. It is cited in no reminder as long as it is stale. Ends 1 if something is broken,
or a secret is found.""",
)
@click.option("--prune", is_flag=True, help="Forget what is stale.")
@click.option("--secrets", is_flag=True, help="Look for secrets too, in the session logs as well.")
@json_option
@directory_option
@click.pass_obj
def check(
    environment: Environment, prune: bool, secrets: bool, as_json: bool, directory: str | None
) -> int:
    """Look the bank over: entries and watches that cannot be used, facts that are stale."""
    from pmem.cli.tables import write_json
    from pmem.cli.words import count

    project = project_of(environment, directory)
    problems, readable = broken(project)
    stale = found_stale(environment, directory, prune=prune) if readable else {}
    if secrets:
        problems += found_secrets(environment, project)
    if as_json:
        write_json(environment, {"problems": problems, "stale": stale, "pruned": prune})
        return Exit.MISSING if problems else Exit.OK
    for problem in problems:
        environment.write(problem)
    for id, why in stale.items():
        environment.write(f"{'forgot ' if prune else ''}{id} (stale: {why})")
    if stale and not prune:
        environment.say(
            f"{count(len(stale), 'entry')} not cited any more; pmem bank check --prune forgets"
            f" {'it' if len(stale) == 1 else 'them'}, pmem review shows each"
        )
    if not problems and not stale:
        environment.say("all is well")
    return Exit.MISSING if problems else Exit.OK


def found_secrets(environment: Environment, project: Project) -> list[str]:
    """Each secret in the project's files, where it stands and as it may be shown."""
    from pmem.cli.words import shown
    from pmem.core.redact import redactor
    from pmem.store.secrets import found
    from pmem.store.settings import load_settings

    redacted = redactor(load_settings(project, environment.env).secrets)
    return [
        f"{shown(one.path, environment.cwd)}{f':{one.line}' if one.line else ''}: {one.shown}"
        for one in found(project, redacted)
    ]


def broken(project: Project) -> tuple[list[str], bool]:
    """What a person should mend in the file, and whether it can be read at all."""
    from pmem.store import bank_rescue, files
    from pmem.store.bank_toml import BankError

    remarks: list[str] = []
    try:
        content, _ = files.read_file(project.bank)
        bank_rescue.read(content, remarks)
    except FileNotFoundError:
        return [], False
    except (BankError, OSError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return [f"{project.bank} cannot be read: {why}"], False
    return remarks, True


def found_stale(environment: Environment, directory: str | None, *, prune: bool) -> dict[str, str]:
    """Why each stale entry is stale, as the files are now; they are marked, or forgotten."""
    from pmem.core.bank import Delete
    from pmem.store.cited import CitedFiles

    with opened_bank(environment, directory, change=True) as bank_file:
        bank_file.apply(CitedFiles(bank_file.project.root).marks(bank_file.bank.entries.values()))
        stale = {e.id: e.stale for e in bank_file.bank.entries.values() if e.stale}
        if prune:
            bank_file.apply([Delete(id, "user") for id in stale])
    return stale
