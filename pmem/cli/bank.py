"""`pmem bank`: look at what is remembered, and change it by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pmem.cli.bank_add import add
from pmem.cli.bank_check import check
from pmem.cli.bank_edit import edit
from pmem.cli.bank_exchange import export, import_
from pmem.cli.environment import Environment
from pmem.cli.options import complete_id, directory_option, json_option
from pmem.cli.project import entry_of, opened_bank, project_of

if TYPE_CHECKING:
    from pmem.core.bank import Entry


#: Entries shown where none holds all that is sought.
NEAREST = 5


class InOrder(click.Group):
    """Lists its commands as they were added, not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Reading first, then changing."""
        return list(self.commands)


@click.group(
    cls=InOrder,
    subcommand_metavar="COMMAND [ARGS]…",
    epilog="""\b
Examples:
  pmem bank list
  pmem bank show npm-test
  pmem bank add "Never force-push." --command "git push *--force*"
  pmem bank edit npm-test""",
)
def bank() -> None:
    """Look at what is remembered here, and change it.

    The bank is one file, .pmem/bank.toml, made to be read and edited. `knowledge` holds stable
    facts, `procedural` what was tried and how it ended.
    """


@bank.command("list", short_help="Show every entry.")
@json_option
@directory_option
@click.pass_obj
def list_(environment: Environment, as_json: bool, directory: str | None) -> None:
    """Show every entry: id, outcome, attempts, exit code, the end of the output.

    With --json one object: {"status": …, "knowledge": […], "procedural": […]}, with the keys of
    bank.toml.
    """
    with opened_bank(environment, directory) as bank_file:
        kept = bank_file.bank
        if as_json:
            _write_entries(environment, list(kept.entries.values()), kept.status)
            return
        _show_entries(environment, list(kept.entries.values()))
        if not kept.entries:
            environment.say(
                "nothing is remembered here yet; start with: pmem run CMD, or pmem bank add TEXT"
            )


@bank.command()
@click.argument("id", shell_complete=complete_id)
@json_option
@directory_option
@click.pass_obj
def show(environment: Environment, id: str, as_json: bool, directory: str | None) -> None:
    """Show all of one entry. ID may be the beginning of an id."""
    from pmem.cli.bank_view import show_entry
    from pmem.cli.tables import write_json
    from pmem.store.bank_entry import to_table

    with opened_bank(environment, directory) as bank_file:
        entry = entry_of(bank_file, id)
        if as_json:
            write_json(environment, {"section": entry.section, **to_table(entry)})
        else:
            show_entry(environment, entry)


@bank.command(short_help="Show the entries that hold all WORDS.")
@click.argument("words", metavar="WORDS…", nargs=-1, required=True)
@json_option
@directory_option
@click.pass_obj
def search(
    environment: Environment, words: tuple[str, ...], as_json: bool, directory: str | None
) -> None:
    """Show the entries that hold all WORDS, in whatever part of them, the most telling first.

    If there is none, those that come nearest.
    """
    from pmem.core.tokens import tokens
    from pmem.memory.model.relevance import scored

    with opened_bank(environment, directory) as bank_file:
        entries = list(bank_file.bank.entries.values())
    scores = scored(entries, tokens(" ".join(words)))
    ranked = sorted(entries, key=lambda e: -scores[e.id])
    found = [e for e in ranked if holds(e, words)]
    near = [] if found else [e for e in ranked if scores[e.id] > 0][:NEAREST]
    if as_json:
        _write_entries(environment, found or near)
        return
    if not found:
        told = "; these come nearest" if near else "; pmem bank list shows what there is"
        environment.say(f"no entry holds {' '.join(words)}{told}")
    _show_entries(environment, found or near)


def holds(entry: Entry, words: tuple[str, ...]) -> bool:
    """Whether an entry holds all the words, whatever their case and composition."""
    from unicodedata import normalize

    parts = (entry.id, entry.content, entry.command, entry.output, entry.note, entry.source)
    text = normalize("NFKC", "\n".join((*parts, entry.cwd, *entry.tags))).casefold()
    return all(normalize("NFKC", word).casefold() in text for word in words)


@bank.command()
@click.argument("ids", metavar="ID…", nargs=-1, required=True, shell_complete=complete_id)
@directory_option
@click.pass_obj
def rm(environment: Environment, ids: tuple[str, ...], directory: str | None) -> None:
    """Forget entries, by their ids."""
    from pmem.core.bank import Delete

    with opened_bank(environment, directory, change=True) as bank_file:
        entries = [entry_of(bank_file, id) for id in ids]
        bank_file.apply([Delete(entry.id, "user") for entry in entries])
        for entry in entries:
            environment.say(f"forgot {entry.id}")


@bank.command()
@directory_option
@click.pass_obj
def path(environment: Environment, directory: str | None) -> None:
    """Print where the bank lies."""
    environment.write(str(project_of(environment, directory).bank))


def _show_entries(environment: Environment, entries: list[Entry]) -> None:
    from pmem.cli.bank_view import show_entries

    if entries:
        show_entries(environment, entries)


def _write_entries(environment: Environment, entries: list[Entry], status: str = "") -> None:
    from pmem.cli.tables import write_json
    from pmem.store.bank_entry import to_table

    sections = {
        name: [to_table(e) for e in entries if e.section == name]
        for name in ("knowledge", "procedural")
    }
    write_json(environment, {"status": status, **sections})


bank.add_command(add)
bank.add_command(edit)
bank.add_command(check)
bank.add_command(export)
bank.add_command(import_)
