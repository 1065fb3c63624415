"""`pmem bank edit`: one entry, or the whole bank, in the user's editor; checked afterwards."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import complete_id, directory_option
from pmem.cli.project import entry_of, opened_bank
from pmem.cli.words import count
from pmem.core.bank import (
    Amend,
    BankOp,
    Delete,
    Entry,
    MemoryBank,
    PutEntry,
    UpdateStatus,
    free_id,
)

EDITORS = ("sensible-editor", "nano", "vim", "vi")


@click.command(
    short_help="Open the bank, or one entry, in your editor.",
    epilog="""\b
Examples:
  pmem bank edit              the whole bank
  pmem bank edit npm-test     one entry

A session that runs meanwhile loses nothing: only what you changed is carried over. If the text
cannot be read, you are asked to mend it; without a terminal it is kept and its place is named.""",
)
@click.argument("id", required=False, shell_complete=complete_id)
@directory_option
@click.pass_obj
def edit(environment: Environment, id: str | None, directory: str | None) -> None:
    """Open the bank, or the entry ID of it, in $VISUAL or $EDITOR."""
    from pmem.store.bank_toml import dumps

    with opened_bank(environment, directory, change=True) as bank_file:
        if id is None:
            before = MemoryBank(bank_file.bank.status, bank_file.bank.entries.values())
        else:
            before = MemoryBank("", [entry_of(bank_file, id)])
        after = edited(environment, dumps(before))
        if after is None:
            environment.say("nothing changed")
            return
        bank_file.refresh()  # others may have written while the editor was open
        ops = changes(before, after, bank_file.bank)
        refused = bank_file.apply(ops)
        if refused:
            draft = Path(tempfile.mkdtemp(prefix="pmem-edit-")) / "bank.toml"
            draft.write_text(dumps(after), encoding="utf-8")
            for why in refused:
                environment.say(f"not taken over: {why}")
            environment.say(f"your text is kept in {draft}")
        kept = len(ops) - len(refused)
        environment.say(f"{count(kept, 'change')} kept" if kept else "nothing changed")


def edited(environment: Environment, text: str) -> MemoryBank | None:
    """The bank as the user's editor left it, None if the text is as it was.

    Raises Trouble if it cannot be read; the text is kept then and its place named.
    """
    from pmem.store.bank_toml import BankError, loads

    editor = find_editor(environment.env)
    folder = Path(tempfile.mkdtemp(prefix="pmem-edit-"))
    draft = folder / "bank.toml"
    draft.write_text(text, encoding="utf-8")
    keep = True  # whatever goes wrong from here on, the text is the user's
    try:
        while True:
            try:
                run_editor(environment, editor, draft)
                new = draft.read_text(encoding="utf-8-sig")
            except (Trouble, UnicodeDecodeError) as error:
                keep = draft.read_bytes() != text.encode()
                kept = f"your text is kept in {draft}" if keep else "nothing was changed"
                what = error.what if isinstance(error, Trouble) else "the text is not UTF-8"
                raise Trouble(what, kept, Exit.MISSING) from None
            said: list[str] = []
            try:
                bank = loads(new, said)
            except BankError as error:
                said.append(str(error))
            if not said:
                keep = False
                return bank if new != text else None
            what = "; ".join(said)
            if not mend(environment, what):
                raise Trouble(
                    f"not taken over: {what}", f"your text is kept in {draft}", Exit.MISSING
                )
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def changes(before: MemoryBank, after: MemoryBank, now: MemoryBank) -> list[BankOp]:
    """What the user did to a bank, as operations on whatever it has become by `now`.

    Only the fields that were changed are written. An entry whose content or watch was rewritten
    becomes the user's own.
    """
    ops: list[BankOp] = [Delete(id, "user") for id in before.entries if id not in after.entries]
    for entry in after.entries.values():
        old = before.get(entry.id)
        if entry == old:
            continue
        if old is None:
            id = free_id(entry.id, now.entries)
            ops.append(PutEntry(replace(entry, id=id, source=entry.source or "user")))
            continue
        names = [f.name for f in fields(Entry) if getattr(entry, f.name) != getattr(old, f.name)]
        changed = {name: getattr(entry, name) for name in names}
        if changed.keys() & {"content", "when"} and "source" not in changed:
            changed |= {"source": "user", "stale": "", "files": {}}
        if "section" in changed:
            ops.append(PutEntry(replace(entry, **changed)))
        else:
            ops.append(Amend(entry.id, {name: getattr(old, name) for name in changed}, changed))
    if after.status != before.status:
        ops.append(UpdateStatus(after.status))
    return ops


def mend(environment: Environment, what: str) -> bool:
    """Ask whether to open the editor again; False where there is nobody to ask."""
    if not (environment.stdin_isatty and environment.stderr_isatty):
        return False
    environment.say(what)
    environment.stderr.write("pmem: open the editor again? [Y/n] ")
    environment.stderr.flush()
    answer = environment.stdin.readline()
    return bool(answer) and not answer.strip().lower().startswith("n")


def find_editor(env: Mapping[str, str]) -> list[str]:
    """The command line of the user's editor. Raises Trouble if there is none."""
    for name in ("VISUAL", "EDITOR"):
        if env.get(name, "").strip():
            try:
                return shlex.split(env[name])
            except ValueError as error:
                raise Trouble(f"${name} cannot be read: {error}", f"mend ${name}") from None
    for editor in EDITORS:
        found = shutil.which(editor, path=env.get("PATH"))
        if found:
            return [found]
    raise Trouble("there is no editor", "set EDITOR, or edit the file: pmem bank path")


def run_editor(environment: Environment, editor: list[str], draft: Path) -> None:
    """Open a file in the editor and wait. Raises Trouble if the editor does not end well."""
    try:
        done = subprocess.run([*editor, os.fspath(draft)], env=dict(environment.env))
    except OSError as error:
        raise Trouble(f"cannot start {editor[0]}: {error.strerror}", "set EDITOR") from None
    if done.returncode:
        raise Trouble(f"{editor[0]} ended with {done.returncode}")
