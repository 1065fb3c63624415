"""What the shell completes after `pmem`: agents, programs, sessions, settings.

A completion is started at every TAB, so each looks only at what it needs: of these only the one
for sessions looks at a project, and none reads the bank. On any trouble there is nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from pmem.agents.registry import TYPED

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: Sessions that are offered, newest first.
MAX_SESSIONS = 20

Items = list["CompletionItem"]


def complete_agent(ctx: click.Context, param: object, incomplete: str) -> Items:
    """Known agents found on PATH, as they are typed."""
    return _items(installed(ctx), incomplete)


def complete_name(ctx: click.Context, commands: Iterable[str], incomplete: str) -> Items:
    """What may stand behind `pmem`: these commands, and known agents found on PATH."""
    return _items([*commands, *installed(ctx)], incomplete)


def complete_attachable(ctx: click.Context, param: object, incomplete: str) -> Items:
    """Agents that a project can be attached to."""
    from pmem.agents.attachment import ATTACHMENTS

    return _items(ATTACHMENTS, incomplete)


def complete_command(ctx: click.Context, param: object, incomplete: str) -> Items:
    """The program to run: an agent, or a file; after it whatever the shell finds."""
    from click.shell_completion import CompletionItem

    files = [CompletionItem(incomplete, type="file")]
    if ctx.params.get("command"):
        return files
    return [*files, *_items(installed(ctx), incomplete)]


def complete_session(ctx: click.Context, param: object, incomplete: str) -> Items:
    """Ids of the newest sessions recorded here."""
    from click.shell_completion import CompletionItem

    from pmem.cli.project import project_of
    from pmem.store.sessions import list_sessions

    with suppress(Exception):
        sessions = list_sessions(project_of(ctx.obj, ctx.params.get("directory")))
        found = [s for s in sessions if s.id.startswith(incomplete)][:MAX_SESSIONS]
        return [CompletionItem(s.id, help=" ".join(s.task.split())[:60] or s.agent) for s in found]
    return []


def complete_setting(ctx: click.Context, param: object, incomplete: str) -> Items:
    """Names of settings."""
    from pmem.store.knobs import KNOBS

    return _items(KNOBS, incomplete)


def installed(ctx: click.Context) -> list[str]:
    """The known agents on PATH, as they are typed."""
    path = ctx.obj.env.get("PATH", os.defpath)
    return [name for name in TYPED if shutil.which(name, path=path)]


def _items(names: Iterable[str], incomplete: str) -> Items:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
