"""`pmem log` and `pmem status`: what was done and decided, read from a session's files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pmem.core.step import Step
from pmem.store.project import find_project
from pmem.store.session_log import SessionLog
from pmem.terminal.cells import width

Call = Callable[..., Any]

ID = "20261130-114207-claude"
REMINDER = {
    "before_step": 4,
    "time": 1796000003.0,
    "trigger": "proposed",
    "decision": "remind",
    "text": "`npm test` failed at steps 2 and 3; 빌드를 먼저 한다.",
    "entries": ["npm-test"],
    "reason": "repeated_failure",
    "delivery": "before",
    "hold": True,
}
SILENCE = {
    "before_step": 3,
    "time": 1796000002.0,
    "trigger": "failure",
    "decision": "silent",
    "verdict": "no rule applies",
}


def steps() -> Iterator[Step]:
    began = 1796000000.0
    yield Step(1, "user", "", "테스트를 통과시켜 줘", started=began)
    for number in (2, 3):
        yield Step(
            number, "command", "npm test", "Error\n", exit_code=1, started=began, seconds=0.25
        )
    yield Step(4, "command", "npm run build && \\\n  npm test", "ok\n", exit_code=0, started=began)
    yield Step(5, "edit", "src/index.js", "+x\n", started=began)


@pytest.fixture
def recorded(project: Path, home: Path) -> Iterator[SessionLog]:
    """A session that runs: five steps, one reminder, one silence."""
    state = find_project(project, {"HOME": str(home)}).state
    older = SessionLog(state, "20261129-080000-codex", {"agent": "codex", "started": 1.0})
    older.step(Step(1, "command", "ls", "", exit_code=0))
    older.close()
    log = SessionLog(state, ID, {"agent": "claude", "task": "fix it"})
    for step in steps():
        log.step(step)
    log.decision(SILENCE)
    log.decision(REMINDER)
    yield log
    log.close()


@pytest.mark.usefixtures("recorded")
def test_the_newest_session_is_one_neutral_line_a_step(pmem: Call) -> None:
    lines = pmem("log", "--json").out.splitlines()
    assert [json.loads(line) for line in lines] == [step.to_json() for step in steps()]


@pytest.mark.usefixtures("recorded")
def test_decisions_are_one_line_each(pmem: Call) -> None:
    lines = pmem("log", "--decisions", "--json").out.splitlines()
    assert [json.loads(line) for line in lines] == [SILENCE, REMINDER]


@pytest.mark.usefixtures("recorded")
def test_a_reminder_stands_before_the_step_that_it_concerns(pmem: Call) -> None:
    lines = pmem("log").out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "[MEMORY", "4", "5"]
    assert "✗ 1" in lines[1]
    assert "0.2 s" in lines[1]
    assert lines[3].endswith("빌드를 먼저 한다. (before, held)")
    assert lines[4].endswith("npm run build && \\ ⏎ npm test")
    assert lines[5].endswith("edit: src/index.js")


@pytest.mark.usefixtures("recorded")
def test_a_silence_says_why(pmem: Call) -> None:
    first, second = pmem("log", "--decisions").out.splitlines()
    assert first.split() == [*first.split()[:2], "silent", "failure", "no", "rule", "applies"]
    assert "[repeated_failure; before, held]" in second


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(pmem: Call, columns: int) -> None:
    for more in ((), ("--decisions",)):
        lines = pmem("log", *more, columns=columns).out.splitlines()
        assert max(width(line) for line in lines) <= columns


@pytest.mark.usefixtures("recorded")
def test_another_session_is_named_by_the_beginning_of_its_id_or_by_its_path(pmem: Call) -> None:
    assert json.loads(pmem("log", "20261129", "--json").out)["action"] == "ls"
    assert pmem("log", ID, "--json").out == pmem("log", "--json").out
    said = pmem("log", "2026")
    assert (said.code, said.out) == (1, "")
    assert "several sessions begin with 2026" in said.err
    assert "there is no session 1999" in pmem("log", "1999").err


def test_a_session_is_read_from_any_place(recorded: SessionLog, pmem: Call) -> None:
    for place in (recorded.dir, recorded.dir / "steps.jsonl"):
        assert len(pmem("log", str(place), "--json").out.splitlines()) == 5


def test_a_torn_line_is_passed_over(recorded: SessionLog, pmem: Call) -> None:
    with (recorded.dir / "steps.jsonl").open("ab") as file:
        file.write(b'{"step": 6, "kind": "comm\n{"step": 7}\n[]\n\xff\n{"step": 8, "ki')
    assert len(pmem("log", "--json").out.splitlines()) == 5


def test_where_nothing_was_recorded_a_word_says_so(pmem: Call) -> None:
    said = pmem("log")
    assert (said.code, said.out) == (1, "")
    assert "nothing was recorded here yet" in said.err


def test_a_log_is_followed_until_the_session_ends(recorded: SessionLog, project: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "pmem", "log", "-f", "--json"],
        cwd=project,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout is not None
        for _ in range(5):
            assert follower.stdout.readline()
        recorded.step(Step(6, "command", "git status", "", exit_code=0))
        assert json.loads(follower.stdout.readline())["action"] == "git status"
        recorded.step(Step(7, "command", "git push", "", exit_code=0))
        recorded.close()
        assert json.loads(follower.stdout.readline())["action"] == "git push"
        assert follower.wait(30) == 0


# --- status -----------------------------------------------------------------------------------


def test_status_tells_what_there_is(recorded: SessionLog, project: Path, pmem: Call) -> None:
    told = json.loads(pmem("status", "--json").out)
    assert told["project"] == str(project)
    assert told["bank"] == f"{project}/.pmem/bank.toml"
    assert (told["arm"], told["interval"], told["window"], told["hold"]) == ("rules", 5, 8, "sure")
    newest, older = told["sessions"]
    assert newest["id"] == ID
    assert (newest["live"], newest["agent"], newest["task"]) == (True, "claude", "fix it")
    assert (newest["steps"], newest["reminders"], newest["holds"], newest["silences"]) == (
        *(5, 1, 1),
        1,
    )
    assert (older["live"], older["steps"], older["reminders"]) == (False, 1, 0)


@pytest.mark.usefixtures("recorded")
def test_status_in_words_fits_the_terminal(pmem: Call) -> None:
    out = pmem("status", columns=80).out
    assert f"{ID}  running · 5 steps · 1 reminder · 1 hold" in out
    assert max(width(line) for line in out.splitlines()) <= 80


def test_status_says_where_memory_is_off(pmem: Call) -> None:
    assert json.loads(pmem("status", "--json", env={"PMEM": "off"}).out)["arm"] == "off"


def test_ages_are_told_in_one_unit(recorded: SessionLog, pmem: Call) -> None:
    recorded.close()
    old = time.time() - 3 * 86400
    os.utime(recorded.dir / "steps.jsonl", (old, old))
    assert f"{ID}  3 days ago" in pmem("status").out


def test_on_a_terminal_the_log_says_which_session_it_is(
    project: Path, home: Path, recorded: SessionLog
) -> None:
    import pexpect

    env = {**os.environ, "HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}
    child = pexpect.spawn(
        sys.executable, ["-m", "pmem", "log"], env=env, cwd=str(project), encoding="utf-8"
    )
    child.expect_exact(f"pmem: {ID} · 5 steps · running", timeout=60)
    child.expect(pexpect.EOF, timeout=60)
    child.close()
    assert child.exitstatus == 0
