"""`pmem status`: what memory there is here, whether it runs, and what it has said."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.environment import Environment
from pmem.cli.options import directory_option, json_option
from pmem.cli.project import opened_bank, settings_of
from pmem.cli.spent import dollars, in_words, of_model
from pmem.cli.words import ago, count, shown

if TYPE_CHECKING:
    from pmem.store.sessions import SessionInfo

#: Sessions shown to a person, and told to a program.
SHOWN, TOLD = 5, 50


@click.command(
    short_help="Show what memory there is here, and its sessions.",
    epilog="""\b
Examples:
  pmem status
  pmem status --json""",
)
@json_option
@directory_option
@click.pass_obj
def status(environment: Environment, as_json: bool, directory: str | None) -> None:
    """Show the project, the settings that matter, the bank's size, and the sessions here."""
    from pmem.store.consent import consented
    from pmem.store.places import state_home
    from pmem.store.sessions import list_sessions
    from pmem.store.spending import Spending

    spending = Spending(state_home(environment.env)[0])
    with opened_bank(environment, directory, blind=True) as bank_file:
        project, bank = bank_file.project, bank_file.bank
        settings = settings_of(environment, project)
        sessions = list_sessions(project)[: TOLD if as_json else SHOWN]
        told: dict[str, Any] = {
            "project": str(project.root),
            "bank": str(project.bank),
            "state": str(project.state),
            "arm": "off" if settings.off else settings.arm,
            "interval": settings.interval,
            "window": settings.window,
            "hold": settings.hold,
            "model": settings.model,
            "mode": settings.mode,
            "consent": consented(project, settings.model, settings.base_url),
            "today": dict(zip(("tokens", "money"), spending.total(), strict=True)),
            "knowledge": len(bank.knowledge),
            "procedural": len(bank.procedural),
            "unread": bank_file.unread,
            "stale": sum(1 for entry in bank.entries.values() if entry.stale),
            "sessions": [session(s) for s in sessions],
        }
    if as_json:
        from pmem.cli.tables import write_json

        write_json(environment, told)
        return
    for remark in (*settings.remarks, *([project.remark] if project.remark else [])):
        environment.say(remark)
    _show(environment, told, shown(project.bank, environment.cwd))


def session(info: SessionInfo) -> dict[str, Any]:
    """A session and what was decided in it, times in Unix seconds."""
    from pmem.store.session_log import read_decisions

    try:
        decisions = read_decisions(info.path)[0]
    except OSError:
        decisions = []
    reminders = [d for d in decisions if d.get("decision") == "remind"]
    return {
        "id": info.id,
        "agent": info.agent,
        "task": info.task,
        "started": info.started,
        "last": info.last,
        "live": info.live,
        "steps": info.steps,
        "reminders": len(reminders),
        "holds": sum(1 for d in reminders if d.get("hold")),
        "silences": sum(1 for d in decisions if d.get("decision") == "silent"),
        **({"model": taken} if (taken := of_model(decisions)) else {}),
    }


def _show(environment: Environment, told: dict[str, Any], bank: str) -> None:
    from pmem.cli.tables import grid, show, text

    table = grid(("", ""))
    table.show_header = False
    stale = f" · {told['stale']} stale: pmem bank check" if told["stale"] else ""
    holds = f"{told['knowledge']} knowledge · {told['procedural']} procedural{stale}"
    facts = {
        "project": told["project"],
        "bank": f"{bank} · {'cannot be read' if told['unread'] else holds}",
        "memory": f"{told['arm']} · interval {told['interval']} · window {told['window']}"
        f" · hold {told['hold']}",
    }
    if told["model"]:
        asked = "" if told["consent"] else " · not asked: pmem config consent yes"
        facts["model"] = (
            f"{told['model']} · {told['mode']} · today {told['today']['tokens']:,} tokens"
            f"{dollars(told['today']['money'])}{asked}"
        )
    for name, value in facts.items():
        table.add_row(text(name, "dim"), text(value))
    for n, one in enumerate(told["sessions"]):
        when = "running" if one["live"] else ago(time.time() - one["last"]) + " ago"
        words = [
            when,
            count(one["steps"], "step"),
            count(one["reminders"], "reminder"),
            *([count(one["holds"], "hold")] if one["holds"] else []),
        ]
        label = text("sessions" if n == 0 else "", "dim")
        line = text(one["id"], "bold" if one["live"] else "")
        line.append("  " + " · ".join(words), "green" if one["live"] else "dim")
        table.add_row(label, line)
        if "model" in one:
            table.add_row(text(""), text(in_words(one["model"]), "dim"))
    if not told["sessions"]:
        table.add_row(text("sessions", "dim"), text("none yet"))
    show(environment, table)
