"""Puts a session together from its parts: bank file, log, memory agent, the outside world."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pmem import __version__
from pmem.core.redact import redact
from pmem.memory.arms import memory_agent
from pmem.session.changes import changed_since
from pmem.session.private import private_commands
from pmem.session.process import SessionConfig
from pmem.session.rule_files import RuleFiles
from pmem.session.session import Outside, Session
from pmem.store.bank_file import BankFile
from pmem.store.quiet_file import QuietFile
from pmem.store.session_log import SessionLog, new_session_id
from pmem.store.settings import Settings


def assemble(config: SessionConfig, env: Mapping[str, str]) -> tuple[Session, BankFile, SessionLog]:
    """A session on this project's files, ready for its first event."""
    project, settings = config.project, config.settings
    bank_file = BankFile(project, max_entries=settings.max_entries)
    session_id = new_session_id(time.time(), config.agent, project.state)
    log = SessionLog(
        project.state,
        session_id,
        {
            "task": redact(config.task),
            "agent": config.agent,
            "source": f"pmem {__version__}",
            "cwd": str(config.cwd),
            "argv": [redact(word) for word in config.argv],
        },
    )
    outside = Outside(
        bank=bank_file,
        log=log,
        memory=memory_agent(chosen(settings)),
        redact=redact,
        is_private=private_commands(settings.private),
        rule_files=RuleFiles(project.root, Path(config.cwd)).read,
        changed_since=partial(changed_since, project.root),
        quiet=QuietFile(project.state).read,
    )
    session = Session(
        outside,
        id=session_id,
        project=str(project.root),
        task=config.task,
        interval=settings.interval,
        window=settings.window,
        hold=settings.hold,
    )
    return session, bank_file, log


def chosen(settings: Settings) -> str:
    """The memory agent by name: a scripted one plays in place of whatever the arm says."""
    if settings.arm != "off" and settings.model.startswith("scripted:"):
        return settings.model
    return settings.arm
