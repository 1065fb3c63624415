"""Sessions made for review: as long as wanted, and one that tells a small story."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from pmem.core.bank import PutEntry, SaveKnowledge, SaveProcedural
from pmem.core.entry import Entry
from pmem.core.event import Observed, Proposed, UserMessage
from pmem.core.step import ACTING_KINDS, Step
from pmem.session.assemble import assemble
from pmem.session.outside import Channel
from pmem.session.process import SessionConfig
from pmem.store.bank_file import BankFile
from pmem.store.project import Project
from pmem.store.session_log import SessionLog, read_steps
from pmem.store.settings import load_settings

ID = "20261130-114207-claude"
BEGAN = 1796000000.0
#: The step of the story before which memory speaks.
SPOKE = 41
TEXT = "`npm test` in api/ failed twice alike, at steps 9 and 12; 빌드가 먼저다 (step 14 passed)."


def long_session(state: Path, steps: int, id: str = ID) -> Path:
    """A session of so many steps, with a decision every fifth one and a reminder every fiftieth."""
    place = state / id
    place.mkdir(parents=True)
    with (place / "steps.jsonl").open("w", encoding="utf-8") as file:
        file.write(json.dumps({"task": "a long one", "agent": "claude", "session": id}) + "\n")
        for n in range(1, steps + 1):
            step = Step(
                n, "command", f"make part-{n}", "line\n" * (n % 7), exit_code=int(n % 3 == 0)
            )
            file.write(json.dumps(step.to_json()) + "\n")
    with (place / "decisions.jsonl").open("w", encoding="utf-8") as file:
        for n in range(5, steps + 1, 5):
            spoke = n % 50 == 0
            record = {"before_step": n, "decision": "remind" if spoke else "silent"}
            file.write(json.dumps({**record, "text": f"about part-{n}"}) + "\n")
    return place


def story(project: Project) -> Path:
    """Sixty steps with a failure known, a reminder at step 41, a hold, and a silence."""
    bank = BankFile(project)
    bank.apply(
        [
            SaveKnowledge("port", "The server listens on port 5433.", source="model"),
            SaveKnowledge(
                "no-force-push",
                "강제 푸시는 금지: never force-push.",
                ("constraint",),
                "user",
                {"command": "git push *--force*"},
            ),
            SaveProcedural("old-build", "`make build` fails.", "failed"),
            PutEntry(npm_test()),
        ]
    )
    bank.close()
    log = SessionLog(
        project.state,
        ID,
        {"agent": "claude", "task": "테스트를 통과시켜 줘 (make the api tests pass)"},
    )
    log.step(Step(1, "user", "", "테스트를 통과시켜 줘", started=BEGAN))
    for n in range(2, 61):
        log.step(_step(n))
    for record in _decisions():
        log.decision(record)
    log.call(
        {
            "n": 3,
            "model": "scripted",
            "phase": "decide",
            "system": "You are the memory agent.",
            "messages": [{"role": "user", "text": "# Steps\nstep 40"}],
            "answer": "remind",
        }
    )
    log.close(bank.path)
    return log.dir


def replayed(project: Project, source: Path) -> Path:
    """A session in which a recorded run went through the real ring, step by step."""
    config = SessionConfig(project, load_settings(project, os.environ, {}), "claude")
    session, bank, log = assemble(config, os.environ)
    channel = Channel("hook:claude", can_hold=True)
    recording = read_steps(source)
    session.handle(UserMessage(str(recording.header.get("task", ""))), channel)
    for step in recording.steps:
        if step.kind in ACTING_KINDS:
            session.handle(Proposed(step.proposed), channel)
        session.handle(Observed(replace(step, started=None)), channel)
    session.close()
    bank.close()
    log.close(bank.path)
    return log.dir


def npm_test() -> Entry:
    """What the story's reminder cites."""
    return Entry(
        "procedural",
        "npm-test",
        "npm test in api/: failed at steps 9, 12 (Cannot find module './db').",
        outcome="failed",
        command="npm test",
        cwd="api",
        attempts=2,
        exit_code=1,
        failure="Cannot find module './db'",
        failed_steps=(9, 12),
        session=ID,
    )


def _step(n: int) -> Step:
    at = BEGAN + 7 * n
    if n in (9, 12, SPOKE):
        return Step(
            n,
            "command",
            "cd api && npm test",
            "Error: Cannot find module './db'\n",
            exit_code=1,
            started=at,
            seconds=2.4,
            cwd="/p",
        )
    if n in (14, 42):
        return Step(
            n,
            "command",
            "npm run build",
            "built 12 files\n",
            exit_code=0,
            started=at,
            seconds=31.0,
            cwd="/p/api",
        )
    if n == 43:
        return Step(n, "command", "npm test", "12 passed\n", exit_code=0, started=at, seconds=2.0)
    if n % 4 == 0:
        return Step(n, "edit", f"src/부분_{n}.py", "+ x = 1\n", started=at)
    return Step(n, "command", f"ls part-{n}", "a  b  c\n", exit_code=0, started=at, seconds=0.1)


def _decisions() -> list[dict[str, object]]:
    cited = [
        {
            "section": "procedural",
            "id": "npm-test",
            "content": npm_test().content,
            "outcome": "failed",
            "command": "npm test",
            "source": f"step 9 of {ID}",
        }
    ]
    return [
        {"before_step": 10, "time": BEGAN + 70, "trigger": "failure", "decision": "silent",
         "ms": 1.2, "verdict": "no rule applies"},
        {"before_step": 20, "time": BEGAN + 140, "trigger": "interval", "decision": "silent",
         "ms": 1.0, "candidate": "`npm test` failed.", "reason": "loop", "cause": "x",
         "cited": cited, "verdict": "the last step (step 19) shows it already"},
        {"before_step": 30, "time": BEGAN + 210, "trigger": "proposed", "decision": "remind",
         "ms": 1.0, "candidate": "never force-push", "reason": "watch:no-force-push",
         "cause": "watch:no-force-push", "text": "강제 푸시는 금지: never force-push.",
         "proposed": "git push --force", "entries": ["no-force-push"], "delivery": "before",
         "channel": "hook:claude", "hold": True,
         "cited": [{"id": "no-force-push", "content": "강제 푸시는 금지: never force-push."}]},
        {"before_step": SPOKE, "time": BEGAN + 287, "trigger": "proposed", "decision": "remind",
         "ms": 2.1, "candidate": TEXT, "reason": "repeated_failure", "cause": "rule:npm-test",
         "text": TEXT, "proposed": "npm test", "entries": ["npm-test"],
         "delivery": "with_result", "channel": "hook:claude", "hold": False, "cited": cited,
         "model": {"name": "scripted", "calls": [3], "input": 900, "output": 40, "money": 0.0031,
                   "ms": 1200}},
    ]  # fmt: skip
