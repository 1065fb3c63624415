"""The project a command works on, its settings and its bank, with their troubles in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble

if TYPE_CHECKING:
    from pmem.core.bank import Entry
    from pmem.store.bank_file import BankFile
    from pmem.store.project import Project
    from pmem.store.settings import Settings


def project_of(
    environment: Environment, directory: str | None, *, code: int = Exit.USAGE
) -> Project:
    """The project of `--dir` or of the directory pmem was called in.

    Raises Trouble with `code` if its .pmem belongs to another tool.
    """
    from pmem.store.project import ForeignDirectory, find_project

    override = environment.cwd / Path(directory).expanduser() if directory else None
    try:
        return find_project(environment.cwd, environment.env, override)
    except ForeignDirectory as error:
        raise Trouble(str(error), code=code) from None
    except OSError as error:
        raise Trouble(_reason(error), "name another place with --dir", code) from None


def settings_of(
    environment: Environment,
    project: Project,
    flags: Mapping[str, Any] | None = None,
    *,
    code: int = Exit.USAGE,
) -> Settings:
    """The settings in force. Raises Trouble with `code` for a value that cannot be used."""
    from pmem.store.settings import load_settings

    try:
        return load_settings(project, environment.env, dict(flags or {}))
    except ValueError as error:
        given = str(error).startswith(("--", "PMEM_"))  # not in a file
        hint = "" if given else "pmem config KEY VALUE sets it right"
        raise Trouble(str(error), hint, code) from None


@contextmanager
def opened_bank(
    environment: Environment, directory: str | None, *, change: bool = False, blind: bool = False
) -> Iterator[BankFile]:
    """The project's bank; what the user must know of it is said, what was changed is written.

    Raises Trouble if it is to be changed and cannot be, and, unless `blind`, if it cannot be read:
    a bank that is not read is not an empty one.
    """
    from pmem.store.bank_file import BankFile

    project = project_of(environment, directory)
    if change and project.read_only:
        raise Trouble(f"nothing is kept in {project.root}", "name a place with --dir DIR")
    at_terminal = environment.stdout_isatty or environment.stderr_isatty
    bank_file = BankFile(project, vouched=at_terminal)
    if bank_file.unread and not blind:
        raise Trouble(bank_file.notes[-1])
    written = True
    try:
        yield bank_file
    finally:
        written = bank_file.close()
        failure = "" if written or not bank_file.notes else bank_file.notes[-1]
        for note in bank_file.notes:
            if note != failure:
                environment.say(note)
    if not written:
        raise Trouble(failure or bank_file.problem)


def entry_of(bank_file: BankFile, id: str) -> Entry:
    """The entry of that id, or the only one whose id begins so. Raises Trouble."""
    bank = bank_file.bank
    found = bank.get(id)
    if found is not None:
        return found
    near = [entry for name, entry in bank.entries.items() if name.startswith(id)]
    if len(near) == 1:
        return near[0]
    if near:
        ids = ", ".join(entry.id for entry in near[:5])
        raise Trouble(f"several entries begin with {id}: {ids}", "name one", Exit.MISSING)
    raise Trouble(f"there is no entry {id}", "pmem bank list shows what there is", Exit.MISSING)


def _reason(error: OSError) -> str:
    where = f" {error.filename}" if error.filename else ""
    return f"cannot use{where}: {error.strerror or type(error).__name__}"
