"""Puts a session together from its parts: bank file, log, memory agent, the outside world."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pmem import __version__
from pmem.core.gate import Gate
from pmem.core.redact import redactor
from pmem.session.arm import playing
from pmem.session.changes import changed_since
from pmem.session.outside import Outside
from pmem.session.private import private_commands
from pmem.session.process import SessionConfig
from pmem.session.rule_files import RuleFiles
from pmem.session.session import Session
from pmem.store.bank_file import BankFile
from pmem.store.calls import recorded_calls
from pmem.store.cited import CitedFiles
from pmem.store.gate_file import load_gate
from pmem.store.quiet_file import QuietFile
from pmem.store.session_log import SessionLog, new_session_id
from pmem.store.sessions import alone, of_session
from pmem.store.trust import doubted_after


def assemble(config: SessionConfig, env: Mapping[str, str]) -> tuple[Session, BankFile, SessionLog]:
    """A session on this project's files, ready for its first event."""
    project, settings = config.project, config.settings
    redact = redactor(settings.secrets)
    session_id = config.id or new_session_id(time.time(), config.agent, project.state)
    own = settings.scope == "session"
    bank_file = BankFile(
        of_session(project, session_id) if own else project,
        max_entries=settings.max_entries,
        max_archive=settings.archive_mb << 20,
    )
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
    parts = playing(settings, project, env, keep=log.call, redact=redact)
    if parts.note:
        bank_file.notes.append(parts.note)
    gate = Gate()
    if settings.gate:
        try:
            gate = load_gate(project.root / Path(settings.gate).expanduser())
        except ValueError as error:
            bank_file.notes.append(f"{error}; none is used this time")
    if parts.thinking is not None:
        parts.thinking.mind.gate = gate
    outside = Outside(
        bank=bank_file,
        log=log,
        memory=parts.memory,
        thinking=parts.thinking,
        redact=redact,
        is_private=private_commands(settings.private),
        rule_files=RuleFiles(project.root, Path(config.cwd)).read,
        changed_since=partial(changed_since, project.root, but=config.printed_to),
        quiet=QuietFile(project.state).read,
        recorded=partial(recorded_calls, project.state, but=session_id),
        marks=CitedFiles(project.root).marks,
        alone=partial(alone, project, session_id),
        gate=gate,
        watch_settings=doubted_after(project),
    )
    session = Session(
        outside,
        id=session_id,
        project=str(project.root),
        task=config.task,
        interval=1 if settings.pure else settings.interval,
        window=settings.window,
        hold=settings.hold,
        deliver=settings.deliver,
        name=parts.name,
    )
    return session, bank_file, log
