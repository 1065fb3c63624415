"""`pmem attach` and `pmem detach`: an agent's own settings in this project, there and back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmem.cli.completion import complete_attachable
from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option, json_option
from pmem.cli.project import project_of
from pmem.cli.words import shown

if TYPE_CHECKING:
    from pmem.agents.attachment import Attachment
    from pmem.store.attached import Record


@click.command(
    short_help="Let an agent that is started without pmem reach it, in this project.",
    epilog="""\b
Examples:
  pmem attach claude --print    what would be written, and nothing is
  pmem attach claude
  pmem detach claude
  pmem attach                   the agents that run here; follow one

pmem's hooks are added to the project's own private settings; git does not show them. From then
on an agent that is started here without pmem has its memory all the same. `pmem claude` needs
none of this.""",
)
@click.argument("agent", required=False, shell_complete=complete_attachable)
@click.option("--shared", is_flag=True, help="In the settings your colleagues get as well.")
@click.option("--print", "only_print", is_flag=True, help="Print the new settings, write nothing.")
@click.option("--pid", type=int, metavar="PID", help="Follow this running agent.")
@json_option
@directory_option
@click.pass_obj
def attach(
    environment: Environment,
    agent: str | None,
    shared: bool,
    only_print: bool,
    pid: int | None,
    as_json: bool,
    directory: str | None,
) -> int:
    """Add pmem's hooks to the settings that AGENT reads in this project.

    Without AGENT: list the agents that run on this machine, and follow one of them in this
    terminal: what it does is remembered, and reminders are shown to you.
    """
    if agent is None:
        if shared or only_print:
            raise click.UsageError("name the agent to attach")
        from pmem.cli.follow import list_running

        return list_running(environment, as_json=as_json, pid=pid)
    if pid is not None or as_json:
        raise click.UsageError("--pid and --json go without an agent's name")
    from pmem.agents.attachment import attached
    from pmem.hook.line import attached_command
    from pmem.store import attached as store

    attachment = attachment_of(agent)
    root = root_of(environment, directory)
    file = root / (attachment.shared if shared else attachment.private)
    change = partial(attached, attachment=attachment, command=attached_command(agent))
    near = shown(file, environment.cwd)
    try:
        if only_print:
            new = store.changed(file, store.read_settings(file), change)
            environment.stdout.write(new.decode("utf-8-sig"))
            environment.say(f"this would stand in {near}")
            return Exit.OK
        done = store.attach(
            environment.env, agent, root, file, change, _without_ours, shared=shared
        )
    except store.Refused as error:
        shareable = isinstance(error, store.KeptByGit)
        hint = "; --shared writes to the project's shared settings" if shareable else ""
        raise Trouble(str(error), f"nothing was changed{hint}", Exit.OURS) from None
    except OSError as error:
        raise Trouble(
            f"cannot write {near}: {error.strerror or error}", "nothing is attached"
        ) from None
    environment.say(f"{near} {'names pmem now' if done else 'names pmem already'}")
    if attachment.remark:
        environment.say(attachment.remark)
    off = _switched_off(environment, agent, root)
    if off:
        environment.say(f"{agent} runs no hooks here ({off}): pmem will see nothing until it does")
    return Exit.OK


@click.command(
    short_help="Undo `pmem attach`.",
    epilog="""\b
Examples:
  pmem detach claude
  pmem detach --all     in every project that was attached

The settings are as they were before, to the byte; where something else was changed in them since,
only pmem's lines are taken out.""",
)
@click.argument("agent", required=False, shell_complete=complete_attachable)
@click.option("--all", "everywhere", is_flag=True, help="Every agent, in every project.")
@directory_option
@click.pass_obj
def detach(
    environment: Environment, agent: str | None, everywhere: bool, directory: str | None
) -> int:
    """Take pmem's hooks out of the settings of AGENT in this project."""
    if everywhere == (agent is not None):
        raise click.UsageError("name an agent, or say --all")
    if everywhere:
        return detach_all(environment)
    assert agent is not None
    attachment = attachment_of(agent)
    root = root_of(environment, directory)
    done = False
    for place in dict.fromkeys((attachment.private, attachment.shared)):
        file = root / place
        if _detached(environment, agent, file):
            environment.say(f"{shown(file, environment.cwd)} names pmem no more")
            done = True
    if not done:
        raise Trouble(f"{agent} is not attached here", "pmem attach AGENT does that", Exit.MISSING)
    return Exit.OK


def detach_all(environment: Environment) -> int:
    """Undo all that is recorded; what cannot be undone is told, and the rest goes on."""
    from pmem.store import attached as store

    left = 0
    for note in _records(environment):
        if not Path(note.root).is_dir():
            store.forget(environment.env, note)
            continue
        try:
            _detached(environment, note.agent, Path(note.file))
            environment.say(f"{note.file} names pmem no more")
        except Trouble as trouble:
            environment.say(str(trouble))
            left += 1
    return Exit.OURS if left else Exit.OK


def attachment_of(agent: str) -> Attachment:
    """How an agent is attached. Raises Trouble for one that cannot be."""
    from pmem.agents.attachment import ATTACHMENTS, NOT_ATTACHED

    if agent not in ATTACHMENTS:
        why = NOT_ATTACHED.get(agent) or f"these can: {', '.join(ATTACHMENTS)}"
        raise Trouble(
            f"{agent} cannot be attached ({why})",
            f"to run it under memory: pmem run {agent}",
            Exit.USAGE,
        )
    return ATTACHMENTS[agent]


def root_of(environment: Environment, directory: str | None) -> Path:
    """Where the agent looks for a project's settings: the worktree's root, else the project's.

    Raises Trouble in the user's home and in `/`, where every project would be meant.
    """
    from pmem.store.attached import settings_root
    from pmem.store.places import home

    project = project_of(environment, directory)
    if project.read_only:
        raise Trouble(f"{project.root} is no project", "go into one, or make one with git init")
    own = home(environment.env)
    start = Path(environment.cwd).resolve()
    return settings_root(start, own.resolve() if own else None) or project.root


def _detached(environment: Environment, agent: str, file: Path) -> bool:
    from pmem.store import attached as store

    try:
        return store.detach(environment.env, agent, file, _without_ours)
    except store.Refused as error:
        raise Trouble(str(error), "mend it, then: pmem detach " + agent) from None
    except OSError as error:
        raise Trouble(f"cannot write {file}: {error.strerror or error}") from None


def _without_ours(text: str) -> str | None:
    from pmem.agents.attachment import detached

    return detached(text) if text.strip() else None


def _records(environment: Environment) -> Iterator[Record]:
    from pmem.store import attached as store

    yield from store.records(environment.env)


def _switched_off(environment: Environment, agent: str, root: Path) -> str:
    if agent != "claude":
        return ""
    from pmem.agents.claude_settings import hooks_switched_off

    return hooks_switched_off({}, (), environment.env, root)
