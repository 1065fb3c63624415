"""`pmem replay`: over files of any agent, and over a directory's own past."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pmem.cli.environment import Environment
from pmem.core.step import Step

FAILURE = "src/db.c:7: error: unknown type 'row'\n"


def run_of(*steps: tuple[str, str, int | None], task: str = "") -> str:
    lines: list[dict[str, Any]] = [{"task": task, "agent": "x"}]
    for n, (action, output, code) in enumerate(steps, start=1):
        step = Step(n, "command", action, output, exit_code=code, cwd="/p", started=1e9 + n)
        lines.append(step.to_json())
    return "".join(json.dumps(line) + "\n" for line in lines)


REPEATED = run_of(
    ("make app", FAILURE, 2), ("make app", FAILURE, 2), ("ls", "src\n", 0), ("make app", FAILURE, 2)
)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    file = tmp_path / "run.jsonl"
    file.write_text(REPEATED)
    return file


def test_it_tells_what_would_have_been_said_when_and_what_came_after(
    pmem: Callable[..., Any], recorded: Path
) -> None:
    said = pmem("replay", str(recorded))
    assert said.code == 0
    assert "4 steps · 1 reminder" in said.out
    assert "before step 4 · repeated_failure" in said.out
    assert "steps 1 and 2" in said.out
    assert "then: make app → failed (exit 2)" in said.out
    assert "The bank at the end" in said.out


def test_as_json_it_is_decisions_and_a_bank(pmem: Callable[..., Any], recorded: Path) -> None:
    found = json.loads(pmem("replay", str(recorded), "--json").out)
    assert set(found) == {"decisions", "bank"}
    [remind] = [d for d in found["decisions"] if d["decision"] == "remind"]
    assert (remind["before_step"], remind["entries"]) == (4, ["make-app"])
    for decision in found["decisions"]:
        assert {"before_step", "decision", "text", "entries", "delivery"} <= set(decision)
    assert found["bank"]["procedural"][0]["attempts"] == 3


def test_with_step_it_is_the_state_at_that_point(pmem: Callable[..., Any], recorded: Path) -> None:
    found = json.loads(pmem("replay", str(recorded), "--step", "2", "--json").out)
    assert found["bank"]["procedural"][0]["attempts"] == 2
    assert all(d["decision"] == "silent" for d in found["decisions"])


def test_a_reminder_counts_where_the_agent_can_hear_it(
    pmem: Callable[..., Any], recorded: Path
) -> None:
    def before(delivery: str) -> int:
        said = pmem("replay", str(recorded), "--delivery", delivery, "--json")
        decisions = json.loads(said.out)["decisions"]
        found: int = next(d["before_step"] for d in decisions if d["decision"] == "remind")
        return found

    assert before("ideal") == 4
    assert before("shell") == 5


@pytest.mark.parametrize(
    ("args", "code", "word"),
    [
        (("replay",), 2, "name recorded runs"),
        (("replay", "--here", "x.jsonl"), 2, "name recorded runs"),
        (("replay", "nothing.jsonl"), 1, "No such file"),
        (("replay", "--arm", "nonsense", "RUN"), 2, "nonsense"),
        (("replay", "--arm", "off", "RUN"), 2, "off says nothing"),
    ],
)
def test_misuse_is_said_in_a_sentence(
    pmem: Callable[..., Any], recorded: Path, args: tuple[str, ...], code: int, word: str
) -> None:
    said = pmem(*(str(recorded) if arg == "RUN" else arg for arg in args))
    assert said.code == code
    assert word in said.err
    assert "Traceback" not in said.err


def past_session(home: Path, project: Path, name: str, *calls: tuple[str, str, int]) -> None:
    """A Claude Code session as its project file tells it."""
    lines: list[dict[str, Any]] = []

    def line(kind: str, content: Any, **more: Any) -> None:
        time = f"2026-01-02T03:0{name}:{len(lines):02}.000Z"
        message = {"role": kind, "content": content}
        told = {"type": kind, "sessionId": name, "cwd": str(project), "timestamp": time}
        lines.append({**told, "message": message, **more})

    line("user", "Make it work.")
    for n, (command, output, code) in enumerate(calls):
        id = f"t{name}{n}"
        use = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}
        line("assistant", [use])
        text = f"Exit code {code}\n{output}" if code else output
        result = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": code != 0}
        response: Any = f"Error: {text}" if code else {"stdout": output, "stderr": ""}
        line("user", [result], toolUseResult=response)
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(x, separators=(",", ":")) + "\n" for x in lines)
    (folder / f"{name}.jsonl").write_text(text)


NO_DB = "Error: Cannot find module './db'\n"


@pytest.fixture
def three_sessions(home: Path, project: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    past_session(home, project, "1", ("npm test", NO_DB, 1), ("npm run build", "built\n", 0))
    past_session(
        home,
        project,
        "2",
        ("npm test", NO_DB, 1),
        ("npm test", NO_DB, 1),
        ("ls", "src\n", 0),
        ("npm test", NO_DB, 1),
        ("npm run build", "built\n", 0),
        ("npm test", "3 passed\n", 0),
    )
    past_session(home, project, "3", (f"curl -H 'Authorization: Bearer {token}' x", "no\n", 6))


@pytest.mark.usefixtures("three_sessions")
def test_here_says_in_one_screen_what_it_would_have_done(
    pmem: Callable[..., Any], home: Path, project: Path
) -> None:
    before = sorted(home.rglob("*"))
    said = pmem("replay", "--here")
    assert said.code == 0
    assert re.search(r"3 sessions, \d+ steps: pmem would have spoken once\.", said.out)
    assert "`npm test` failed twice alike" in said.out
    assert "then: npm test → failed (exit 1)" in said.out
    assert "ghp_a1B2" not in said.out
    assert sorted(home.rglob("*")) == before
    assert not (project / ".pmem").exists()


@pytest.mark.usefixtures("three_sessions")
def test_what_was_found_goes_into_the_bank_and_speaks_at_the_next_first_repeat(
    pmem: Callable[..., Any], project: Path
) -> None:
    assert pmem("replay", "--here", "--seed").code == 0
    bank = json.loads(pmem("bank", "list", "--json").out)
    commands = [entry["command"] for entry in bank["procedural"] if entry.get("command")]
    assert "npm test" in commands
    assert "ghp_a1B2" not in json.dumps(bank)

    from pmem.core.event import Observed, Proposed
    from pmem.core.step import Action
    from pmem.memory.rules import Rules
    from pmem.session.in_memory import BankInMemory, LogInMemory
    from pmem.session.outside import Channel, Outside
    from pmem.session.session import Session
    from pmem.store.bank_file import BankFile
    from pmem.store.project import find_project

    kept = BankFile(find_project(project, Environment.of_process().env)).bank
    session = Session(
        Outside(BankInMemory(kept), LogInMemory(), Rules()), id="20260203-1-x", project=str(project)
    )
    channel = Channel("hook", can_hold=True)
    step = Step(0, "command", "npm test", NO_DB, exit_code=1, cwd=str(project))
    first = session.handle(Observed(step), channel)
    repeat = session.handle(Proposed(Action("command", "npm test", str(project))), channel)
    spoken = [answer for answer in (first, repeat) if answer.reminder is not None]
    assert len(spoken) == 1
    assert "npm run build" in spoken[0].reminder.text  # type: ignore[union-attr]
    assert not spoken[0].hold


def test_a_directory_without_a_past_is_said(pmem: Callable[..., Any]) -> None:
    said = pmem("replay", "--here")
    assert said.code == 0
    assert "No past run" in said.out
