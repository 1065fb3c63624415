"""`pmem bank export` and `pmem bank import`: facts for other projects, other tools, colleagues."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option
from pmem.cli.project import opened_bank
from pmem.core import json_text
from pmem.core.bank import BankOp, Entry, MemoryBank, PutEntry

SECTIONS = ("knowledge", "procedural")


@click.command(
    short_help="Write the bank as JSON, or as a chapter for AGENTS.md.",
    epilog="""\b
Examples:
  pmem bank export --format agents-md >> AGENTS.md
  pmem bank export -o bank.json
  pmem bank import bank.json --dir ../other

The memory agent's own notes, its status, are not written; nor is what is stale.""",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["json", "agents-md"]),
    default="json",
    help="json (the default) or agents-md.",
)
@click.option("--output", "-o", metavar="FILE", help="Where to write it; else stdout.")
@directory_option
@click.pass_obj
def export(environment: Environment, kind: str, output: str | None, directory: str | None) -> None:
    """Write what is remembered here, in a form that others read."""
    from pmem.cli.report_page import write_out

    with opened_bank(environment, directory) as bank_file:
        entries = [e for e in bank_file.bank.entries.values() if not e.stale]
    text = agents_md(entries) if kind == "agents-md" else as_json(entries) if entries else ""
    if not text:
        raise Trouble(
            "nothing is remembered here that could be written",
            "pmem bank list shows what there is",
            Exit.MISSING,
        )
    write_out(environment, output, text)


def as_json(entries: Iterable[Entry]) -> str:
    """The entries in the shape of `bank list --json`, without the status."""
    from pmem.store.bank_entry import to_table

    kept = list(entries)
    tables = {name: [to_table(e) for e in kept if e.section == name] for name in SECTIONS}
    return json.dumps(tables, ensure_ascii=False, indent=2, default=str) + "\n"


def agents_md(entries: Iterable[Entry]) -> str:
    """A chapter for AGENTS.md: what must be obeyed, what is known, what failed and how it passed.

    What the rule files say themselves is left out, and so are plain successes that nobody wrote
    or pinned; "" if that is all there is.
    """
    chapters: dict[str, list[str]] = {"Obey": [], "Known": [], "Tried": []}
    for entry in entries:
        words = " ".join(entry.content.split())
        if not words or entry.source.partition(":")[0].endswith((".md", ".cursorrules")):
            continue
        if entry.section == "knowledge":
            binding = {"constraint", "requirement"} & set(entry.tags)
            chapters["Obey" if binding else "Known"].append(words)
        elif (
            entry.outcome in ("diagnosis", "failed")
            or entry.failed_steps
            or entry.source == "user"
            or "pinned" in entry.tags
        ):
            chapters["Tried"].append(words)
    if not any(chapters.values()):
        return ""
    lines = ["## What was learned here", ""]
    for name, found in chapters.items():
        if found:
            lines += [f"### {name}", "", *(f"- {words}" for words in found), ""]
    return "\n".join(lines)


@click.command(
    "import",
    short_help="Take entries over from a file.",
    epilog="""\b
Examples:
  pmem bank import bank.json
  pmem bank import ../other/.pmem/bank.toml --replace
  pmem bank export --dir ../other | pmem bank import -

FILE is what `pmem bank export` or `bank list --json` wrote, or a bank.toml; - is stdin.""",
)
@click.argument("file")
@click.option("--replace", is_flag=True, help="Entries that are here already are replaced.")
@directory_option
@click.pass_obj
def import_(environment: Environment, file: str, replace: bool, directory: str | None) -> None:
    """Take the entries of FILE over; those with an id that is here already stay as they are."""
    from pmem.cli.words import count

    entries, remarks = entries_of(environment, file)
    with opened_bank(environment, directory, change=True) as bank_file:
        known = bank_file.bank.entries
        ops: list[BankOp] = [PutEntry(e) for e in entries if replace or e.id not in known]
        bank_file.apply(ops)
    for remark in remarks:
        environment.say(remark)
    left = len(entries) - len(ops)
    kept = f", {left} were here already (--replace takes them too)" if left else ""
    environment.say(f"{count(len(ops), 'entry')} taken over{kept}")


def entries_of(environment: Environment, file: str) -> tuple[list[Entry], list[str]]:
    """The entries in a file, and what cannot be used of it. Raises Trouble."""
    from pmem.store.bank_toml import BankError, loads

    try:
        text = (
            environment.stdin.read()
            if file == "-"
            else (environment.cwd / Path(file).expanduser()).read_text(encoding="utf-8-sig")
        )
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Trouble(f"cannot read {file}: {why}", "name another file", Exit.MISSING) from None
    remarks: list[str] = []
    try:
        bank = from_json(text, remarks) if text.lstrip().startswith("{") else loads(text, remarks)
    except (BankError, ValueError) as error:
        where = "stdin" if file == "-" else file
        raise Trouble(
            f"{where} holds no bank: {error}", "nothing was changed", Exit.MISSING
        ) from None
    return list(bank.entries.values()), remarks


def from_json(text: str, remarks: list[str]) -> MemoryBank:
    """The bank in the shape of `bank list --json`. Raises ValueError if the text is none."""
    from pmem.store.bank_entry import Unreadable, from_table

    document: Any = json_text.loads(text)
    bank = MemoryBank()
    for section in SECTIONS:
        tables = document.get(section, [])
        if not isinstance(tables, list):
            raise ValueError(f"{section} must be a list")
        for table in tables:
            try:
                if not isinstance(table, Mapping):
                    raise Unreadable(f"an entry of {section} is no object")
                bank.put(from_table("knowledge" if section == "knowledge" else "procedural",
                                    table, remarks))  # fmt: skip
            except Unreadable as error:
                remarks.append(f"left out: {error}")
    if not bank.entries and not remarks:
        raise ValueError("it has neither knowledge nor procedural entries")
    return bank
