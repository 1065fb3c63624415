"""`pmem log`: what a session did and what was decided, now or as it happens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.completion import complete_session
from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option, json_option
from pmem.cli.project import project_of
from pmem.core import json_text

if TYPE_CHECKING:
    from pmem.store.project import Project

#: Seconds between two looks at a log that is followed.
PAUSE = 0.25


@click.command(
    short_help="Show what a session did and what was decided.",
    epilog="""\b
Examples:
  pmem log                     the newest session: what was done, and said
  pmem log 20261130-114207     another one, by (the beginning of) its id
  pmem log --decisions         every decision, the silent ones too, and why
  pmem log --call 3            a model's raw prompt and answer
  pmem log -f                  as it happens, in another terminal
  pmem log -f --reminders      only what is said, as banners
  pmem log --json | tail -n 1  one step a line

pmem status has the ids. With --json a step is the neutral line that replay reads; with --decisions
it is one decision.""",
)
@click.argument("session", required=False, shell_complete=complete_session)
@click.option("--decisions", is_flag=True, help="What was decided instead of what was done.")
@click.option("--reminders", is_flag=True, help="Only what was said to you, as banners.")
@click.option(
    "--call", type=click.IntRange(min=1), metavar="N", help="A model's raw prompt and answer."
)
@click.option("--follow", "-f", is_flag=True, help="Go on until the session ends.")
@json_option
@directory_option
@click.pass_obj
def log(
    environment: Environment,
    session: str | None,
    decisions: bool,
    reminders: bool,
    call: int | None,
    follow: bool,
    as_json: bool,
    directory: str | None,
) -> None:
    """Show the steps of SESSION (an id, or a path), by default of the newest one here."""
    from pmem.cli.log_view import Lines
    from pmem.cli.tables import write_json

    project = project_of(environment, directory)
    place = the_session(environment, project, session, follow=follow)
    if call is not None:
        show_call(environment, place, call, as_json=as_json)
        return
    if environment.stdout_isatty and not as_json and place.is_dir():
        environment.say(about(place))
    lines = Lines(environment)
    decisions = decisions or reminders
    empty = place.is_file()  # a session may have done nothing yet
    for step, decision in records(place, decisions=decisions, both=not as_json, follow=follow):
        empty = False
        if reminders and not for_the_person(decision or {}):
            continue
        if as_json:
            write_json(environment, step or decision, one_line=True)
        elif step is not None:
            environment.write(lines.step(step))
        elif decision is not None and reminders:
            show_banner(environment, lines.banner(decision))
        elif decision is not None:
            environment.write(lines.decision(decision) if decisions else lines.said(decision))
        environment.stdout.flush()
    if empty and not decisions:
        raise Trouble(f"{place} holds no step", "pmem status shows the sessions", Exit.MISSING)


def for_the_person(decision: dict[str, Any]) -> bool:
    """Whether a decision was a reminder that the person was shown."""
    told = decision.get("decision") == "remind" and decision.get("delivery") != "none"
    return told and decision.get("audience") != "agent"


def show_banner(environment: Environment, text: str) -> None:
    """One banner; in a pane of pmem's own it has the pane to itself."""
    from pmem.terminal.beside import fit_pane

    if fit_pane(text, environment.env):
        environment.stdout.write("\x1b[?25l\n" + text)
    else:
        environment.write(text)


def about(place: Path) -> str:
    """Which session this is, in a few words: `20261130-114207-claude · 60 steps · 3 min ago`."""
    from pmem.cli.words import ago, count
    from pmem.store.sessions import session_info

    info = session_info(place)
    when = "running" if info.live else f"{ago(time.time() - info.last)} ago"
    return " · ".join((info.id, count(info.steps, "step"), when))


def show_call(environment: Environment, place: Path, number: int, *, as_json: bool) -> None:
    """A call of the session's model as it was sent and answered. Raises Trouble for no such one."""
    from pmem.cli.tables import write_json
    from pmem.core.text import clean
    from pmem.store.session_log import folder_of, read_call

    record = read_call(folder_of(place), number)
    if record is None:
        raise Trouble(
            f"the session has no call {number}", "pmem log --decisions names them", Exit.MISSING
        )
    if as_json:
        write_json(environment, record)
        return
    parts = [f"--- {record.get('model')} {record.get('phase')}: system", str(record["system"])]
    for message in record["messages"]:
        parts.append(f"--- {message['role']}")
        parts += [f"result: {result}" for result in message.get("results", ())]
        parts.append(str(message["text"]))
        parts += [f"call: {name} {arguments}" for name, arguments in message.get("calls", ())]
    parts.append(f"--- answer, after {record.get('seconds')} s")
    parts += [f"call: {name} {arguments}" for name, arguments in record.get("calls", ())]
    parts.append(str(record.get("answer", record.get("error", ""))))
    environment.write(clean("\n".join(parts)))


def the_session(
    environment: Environment, project: Project, named: str | None, *, follow: bool = False
) -> Path:
    """The directory (or the file) of a session, as `find_session`. Raises Trouble without one."""
    place = find_session(environment, project, named, follow=follow)
    if place is None:
        raise nothing_recorded()
    return session_folder(place) if place.is_dir() else place


def session_folder(place: Path) -> Path:
    """The session's directory that this place names. Raises Trouble where it is no session's."""
    from pmem.store.session_log import DECISIONS, STEPS, folder_of

    folder = folder_of(place)
    if (folder / STEPS).is_file() and (place == folder or place.name in (STEPS, DECISIONS)):
        return folder
    if place == folder:
        raise Trouble(f"{place} is no session's directory", "pmem status shows them", Exit.MISSING)
    raise Trouble(
        f"{place} is no session's log", "pmem log FILE and pmem export show its steps", Exit.MISSING
    )


def nothing_recorded() -> Trouble:
    """What is asked for is no session's, since there is none."""
    return Trouble(
        "nothing was recorded here yet", "start with: pmem run CMD, or pmem shell", Exit.MISSING
    )


def find_session(
    environment: Environment, project: Project, named: str | None, *, follow: bool
) -> Path | None:
    """The directory (or the file) of a session, None if there is none yet.

    When following, waits for one that runs. Raises Trouble for a name that fits none or several.
    """
    from pmem.store.sessions import list_sessions

    if named is not None:
        path = environment.cwd / Path(named).expanduser()
        if path.exists():
            return path
        found = [s for s in list_sessions(project) if s.id.startswith(named)]
        exact = [s for s in found if s.id == named] or found
        if len(exact) == 1:
            return exact[0].path
        what = f"several sessions begin with {named}" if found else f"there is no session {named}"
        raise Trouble(what, "pmem status shows them", Exit.MISSING)
    waiting = False
    while True:
        sessions = list_sessions(project)
        running = [s for s in sessions if s.live]
        if not follow:
            worth = [s for s in sessions if s.live or s.steps] or sessions
            return worth[0].path if worth else None
        if running:
            return running[0].path
        if not waiting:
            environment.say("no session is running here; waiting for one (ctrl-C to leave)")
            waiting = True
        time.sleep(PAUSE)


def records(
    place: Path, *, decisions: bool, both: bool, follow: bool
) -> Iterator[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """Steps, or decisions, in order; with `both`, what was said stands between the steps.

    When following, goes on with what is appended until the session has ended.
    """
    from pmem.core.decision_line import settled
    from pmem.store.session_log import DECISIONS, STEPS, folder_of

    folder = folder_of(place)
    steps = Tail(place if place.is_file() else folder / STEPS)
    decided = Tail(folder / DECISIONS)
    while True:
        running = follow and is_running(place)
        if decisions:
            yield from ((None, settled(record)) for record in decided.new())
        else:
            said = [settled(record) for record in decided.new()] if both else []
            reminders = [d for d in said if d.get("decision") == "remind"]
            yield from between([s for s in map(neutral, steps.new()) if s is not None], reminders)
        if not running:
            return
        time.sleep(PAUSE)


def between(
    steps: list[dict[str, Any]], said: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """Steps with what was said before each; what was said after the last one stands at the end."""
    said = list(said)
    for step in steps:
        while said and said[0].get("before_step", 0) <= step["step"]:
            yield None, said.pop(0)
        yield step, None
    yield from ((None, record) for record in said)


def neutral(record: dict[str, Any]) -> dict[str, Any] | None:
    """The neutral line of a step, None for the header and for what is no step."""
    from pmem.core.step import Step

    try:
        return Step.from_json(record).to_json()
    except ValueError:
        return None


class Tail:
    """The records of a file of JSON lines, and later those that were appended since."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def new(self) -> list[dict[str, Any]]:
        """Whole lines not returned before; torn ones are skipped. Raises Trouble."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                whole = file.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Trouble(f"cannot read {self.path}: {error.strerror or error}") from None
        self._read += len(whole) + 1 if whole else 0
        found = []
        for line in whole.split(b"\n"):
            try:
                record = json_text.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                found.append(record)
        return found


def is_running(place: Path) -> bool:
    """Whether the session of this directory still runs."""
    from pmem.store.sessions import session_info

    try:
        return place.is_dir() and session_info(place).live
    except FileNotFoundError:
        return False
