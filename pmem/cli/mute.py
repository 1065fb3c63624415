"""`pmem mute` and `pmem wrong`: what a person does not want to hear."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import complete_id, directory_option
from pmem.cli.project import entry_of, opened_bank, project_of

if TYPE_CHECKING:
    from pmem.store.project import Project
    from pmem.store.sessions import SessionInfo

#: Sessions in which the last reminder is looked for, newest first.
LOOKED_AT = 20


@click.command(
    short_help="Silence an entry, or the running session.",
    epilog="""\b
Examples:
  pmem mute                 the session that runs here says nothing more
  pmem mute npm-test        no reminder cites this entry, now and later
  pmem mute npm-test --off  it may be cited again

Steps are recorded as ever, and the bank goes on. To end one reminder for good: pmem wrong.""",
)
@click.argument("entry", required=False, shell_complete=complete_id)
@click.option("--off", is_flag=True, help="Take it back.")
@directory_option
@click.pass_obj
def mute(environment: Environment, entry: str | None, off: bool, directory: str | None) -> None:
    """Silence ENTRY (an id, or its beginning), or all that runs in this project."""
    from pmem.store.quiet_file import QuietFile

    project = project_of(environment, directory)
    quiet = QuietFile(project.state)
    if entry is not None:
        name = (
            entry if off and entry in quiet.read().entries else _id(environment, entry, directory)
        )
        quiet.set("entry", name, wanted=off)
        environment.say(f"{name} is {'heard again' if off else 'silent'}{_back(name, off)}")
        return
    running = _running(project)
    if not running:
        raise Trouble(
            "no session is running here", "to silence an entry: pmem mute ENTRY", Exit.MISSING
        )
    for session in running:
        quiet.set("session", session.id, wanted=off)
        environment.say(f"{session.id} {'may speak again' if off else 'is silent'}{_back('', off)}")


@click.command(
    short_help="The last reminder was noise: never again.",
    epilog="""\b
Examples:
  pmem wrong

What it was about is not told again, in this session and later ones; the entries it cited stay in
the bank. The mark stands in the session's decisions: pmem log --decisions.""",
)
@click.option("--off", is_flag=True, help="Take it back.")
@directory_option
@click.pass_obj
def wrong(environment: Environment, off: bool, directory: str | None) -> None:
    """Mark the last reminder of this project as noise and keep it from coming back."""
    from pmem.core.quiet import base
    from pmem.store.quiet_file import QuietFile

    project = project_of(environment, directory)
    found = last_reminder(project)
    if found is None:
        raise Trouble("nothing was said here yet", "pmem log shows what was done", Exit.MISSING)
    session, reminder = found
    QuietFile(project.state).set("cause", base(str(reminder["cause"])), wanted=off)
    mark: dict[str, object] = {
        "before_step": reminder.get("before_step"),
        "time": round(time.time(), 3),
        "decision": "right" if off else "wrong",
        "verdict": f"the user says it {'was no' if off else 'was'} noise: {reminder.get('text')}",
        **{key: reminder[key] for key in ("text", "entries", "reason", "cause") if key in reminder},
    }
    note(session, mark)
    said = "may come again" if off else "will not come again"
    environment.say(f"{said}: {reminder.get('text', '')}")


def last_reminder(project: Project) -> tuple[SessionInfo, dict[str, Any]] | None:
    """The newest reminder given in this project, and its session."""
    from pmem.store.session_log import read_decisions
    from pmem.store.sessions import list_sessions

    newest: tuple[SessionInfo, dict[str, Any]] | None = None
    for session in list_sessions(project)[:LOOKED_AT]:
        try:
            decisions = read_decisions(session.path)[0]
        except OSError:
            continue
        for decision in reversed(decisions):
            if decision.get("decision") == "remind" and isinstance(decision.get("cause"), str):
                if newest is None or _time(decision) > _time(newest[1]):
                    newest = session, decision
                break
    return newest


def note(session: SessionInfo, record: dict[str, Any]) -> None:
    """Append a record to a session's decisions; the session may be running."""
    from pmem.store import files, jsonl
    from pmem.store.session_log import DECISIONS

    fd = files.open_append(session.path / DECISIONS)
    try:
        jsonl.append(fd, jsonl.encode(record))
    finally:
        os.close(fd)


def _id(environment: Environment, entry: str, directory: str | None) -> str:
    with opened_bank(environment, directory) as bank_file:
        return entry_of(bank_file, entry).id


def _running(project: Project) -> list[SessionInfo]:
    from pmem.store.sessions import list_sessions

    return [session for session in list_sessions(project) if session.live]


def _time(decision: dict[str, Any]) -> float:
    told = decision.get("time")
    return float(told) if isinstance(told, int | float) else 0.0


def _back(name: str, off: bool) -> str:
    return "" if off else f"; back with: pmem mute {name + ' ' if name else ''}--off"
