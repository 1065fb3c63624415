"""A session's log: one write a record, torn lines skipped, private, never in the way."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pmem.core.step import Step
from pmem.store.project import Project
from pmem.store.session_log import SessionLog, new_session_id, read_decisions, read_steps
from pmem.store.sessions import list_sessions, prune, session_info


def step(number: int, observation: str = "ok", **more: object) -> Step:
    return Step(number, "command", "make test", observation, **more)  # type: ignore[arg-type]


def log_of(project: Project, id: str = "20260102-101112-claude", **header: object) -> SessionLog:
    return SessionLog(project.state, id, {"agent": "claude", "source": "pmem", **header})


def test_a_log_is_a_header_and_then_one_step_a_line(project: Project) -> None:
    log = log_of(project, task="make the tests pass")
    steps = [step(1), step(2, "bad", exit_code=2, cwd="/x", started=1.5, seconds=0.1)]
    for one in steps:
        log.step(one)
    log.close()
    lines = (log.dir / "steps.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["task"] == "make the tests pass"
    assert json.loads(lines[2])["exit_code"] == 2
    recording = read_steps(log.dir)
    assert recording.steps == steps and recording.torn == 0
    assert recording.header["agent"] == "claude" and recording.header["pid"] == os.getpid()
    assert read_steps(log.dir / "steps.jsonl") == recording


def test_the_header_can_be_completed_until_the_first_step(project: Project) -> None:
    log = log_of(project)
    log.describe(task="said a little later")
    log.step(step(1))
    log.describe(task="too late")
    assert read_steps(log.dir).header["task"] == "said a little later"


def test_decisions_are_a_file_of_their_own(project: Project) -> None:
    log = log_of(project)
    log.decision({"trigger": "failure", "decision": "silent", "path": Path("/x")})
    log.decision({"trigger": "interval", "text": "가"})
    records, torn = read_decisions(log.dir)
    assert [r["trigger"] for r in records] == ["failure", "interval"] and torn == 0
    assert "가" in (log.dir / "decisions.jsonl").read_text()
    assert read_steps(log.dir).steps == []


def test_everything_is_private_whatever_the_umask(project: Project) -> None:
    old = os.umask(0)
    try:
        log = log_of(project)
        log.step(step(1))
        log.decision({})
        (project.root / "bank.toml").write_text("schema = 1\n")
        log.close(project.root / "bank.toml")
    finally:
        os.umask(old)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in log.dir.iterdir()}
    assert modes == dict.fromkeys(("steps.jsonl", "decisions.jsonl", "bank.toml"), 0o600)
    for directory in (log.dir, project.state, project.state.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_the_bank_is_copied_at_the_end_if_there_is_one(project: Project) -> None:
    log = log_of(project)
    log.close(project.bank)
    assert not (log.dir / "bank.toml").exists() and log.notes == []


def test_any_text_survives(project: Project) -> None:
    nasty = "a\ud800b\x00\x1b[1m\u2028\u0085\r\nd\udfff가🙂"
    log = log_of(project)
    log.step(step(1, nasty, thought="\udc80"))
    log.step(step(2, "next\u2029line"))
    content = (log.dir / "steps.jsonl").read_bytes()
    assert len(content.decode().splitlines()) == 3
    assert [s.observation for s in read_steps(log.dir).steps] == [nasty, "next\u2029line"]


def test_a_megabyte_is_cut_to_head_and_tail_with_a_mark(project: Project) -> None:
    log = log_of(project)
    log.step(Step(1, "command", "c" * 1_000_000, "HEAD" + "x" * 1_000_000 + "TAIL"))
    (kept,) = read_steps(log.dir).steps
    assert len(kept.observation) <= 20_000 and len(kept.action) <= 20_000
    assert kept.observation.startswith("HEAD") and kept.observation.endswith("TAIL")
    assert "of 1000008 characters left out by pmem" in kept.observation


def test_the_longest_steps_do_not_hide_their_number_from_the_list(project: Project) -> None:
    log = log_of(project, task="t" * 1_000_000)
    log.step(Step(7, "command", "\x01" * 10**6, "\x01" * 10**6, thought="\x01" * 10**6))
    assert session_info(log.dir).steps == 7
    assert session_info(log.dir).task.endswith("left out by pmem …]")


def test_torn_lines_are_skipped_and_counted(project: Project) -> None:
    log = log_of(project)
    for n in range(1, 4):
        log.step(step(n))
    log.close()
    path = log.dir / "steps.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2][:20]
    path.write_bytes(b"\n".join([*lines[:3], b"\xff\xfe", b"[1]", b'{"step": "x"}', *lines[3:]]))
    with path.open("ab") as file:
        file.write(b'{"step": 4, "kind')
    recording = read_steps(log.dir)
    assert [s.number for s in recording.steps] == [1, 3]
    assert recording.torn == 5


def test_a_torn_last_line_does_not_eat_the_next_record(project: Project) -> None:
    log = log_of(project)
    log.step(step(1))
    with (log.dir / "steps.jsonl").open("ab") as file:
        file.write(b'{"step": 2, "ki')
    log.step(step(3))
    recording = read_steps(log.dir)
    assert [s.number for s in recording.steps] == [1, 3] and recording.torn == 1


def test_fifty_thousand_steps_are_read_in_one_go(project: Project) -> None:
    log = log_of(project)
    line = json.dumps(step(1, "some output\n" * 5).to_json())
    with (log.dir / "steps.jsonl").open("w") as file:
        file.write('{"task": "t"}\n')
        for n in range(1, 50_001):
            file.write(line.replace('"step": 1,', f'"step": {n},') + "\n")
    recording = read_steps(log.dir)
    assert len(recording.steps) == 50_000 and recording.steps[-1].number == 50_000
    assert session_info(log.dir).steps == 50_000


def test_a_log_that_cannot_be_written_is_a_note_and_never_an_error(project: Project) -> None:
    project.state.parent.mkdir(parents=True)
    project.state.write_text("in the way")
    log = log_of(project)
    for n in range(1, 4):
        log.step(step(n))
        log.decision({"n": n})
    log.close(project.bank)
    (note,) = log.notes
    assert "gaps" in note


def test_a_log_that_was_removed_under_us_is_begun_anew(project: Project) -> None:
    log = log_of(project, task="t")
    log.step(step(1))
    shutil.rmtree(log.dir)
    log.step(step(2))
    recording = read_steps(log.dir)
    assert [s.number for s in recording.steps] == [2] and recording.header["task"] == "t"


def test_reading_what_is_not_there_is_an_empty_recording(tmp_path: Path) -> None:
    assert read_steps(tmp_path / "steps.jsonl").steps == []
    assert read_decisions(tmp_path) == ([], 0)


# -- ids ---------------------------------------------------------------------------------------


def test_an_id_tells_when_and_which_agent(project: Project) -> None:
    now = time.mktime((2026, 1, 2, 10, 11, 12, 0, 0, -1))
    ids = [new_session_id(now, "claude", project.state) for _ in range(3)]
    assert ids == [f"20260102-101112-claude{n}" for n in ("", "-2", "-3")]
    assert new_session_id(now, "../My Agent!", project.state) == "20260102-101112-my-agent"
    assert new_session_id(now, "가", project.state) == "20260102-101112-agent"


def test_without_a_directory_ids_differ_all_the_same(project: Project) -> None:
    assert len({new_session_id(0, "claude") for _ in range(50)}) > 45
    project.state.parent.mkdir(parents=True)
    project.state.write_text("in the way")
    assert "-claude-" in new_session_id(0, "claude", project.state)


# -- the sessions there are ------------------------------------------------------------------------


def test_sessions_are_listed_newest_first_with_what_they_were_about(project: Project) -> None:
    for n, agent in enumerate(("claude", "shell"), 1):
        log = log_of(project, f"2026010{n}-101112-{agent}", agent=agent, task=f"t{n}", started=n)
        for number in range(1, n + 1):
            log.step(step(number, "x" * 50_000))
        log.close()
    log.close()
    (project.state / "bank.toml.good").touch()
    (project.state / "something").mkdir()
    newest, oldest = list_sessions(project)
    assert (newest.agent, newest.task, newest.steps, newest.live) == ("shell", "t2", 2, False)
    assert (oldest.agent, oldest.task, oldest.steps, oldest.started) == ("claude", "t1", 1, 1.0)
    assert newest.size > 20_000


def test_there_are_no_sessions_before_the_first(project: Project) -> None:
    assert list_sessions(project) == []


def test_a_session_without_steps_tells_what_its_id_says(project: Project) -> None:
    id = new_session_id(time.mktime((2026, 1, 2, 10, 11, 12, 0, 0, -1)), "claude", project.state)
    info = session_info(project.state / id)
    assert (info.agent, info.task, info.steps, info.live) == ("claude", "", 0, True)
    assert time.localtime(info.started).tm_mday == 2


RUNNING = """
import sys
from pathlib import Path
from pmem.core.step import Step
from pmem.store.session_log import SessionLog
log = SessionLog(Path(sys.argv[1]), "20200101-101112-claude", {"started": 1})
log.step(Step(1, "command", "x", "y" * 10000))
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def running(project: Project) -> Iterator[subprocess.Popen[str]]:
    """A session of another process, from years ago and still running."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNING, str(project.state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def test_a_session_is_live_until_its_process_ends_however_it_ends(
    project: Project, running: subprocess.Popen[str]
) -> None:
    assert [s.live for s in list_sessions(project)] == [True]
    running.kill()
    running.wait()
    assert [s.live for s in list_sessions(project)] == [False]


def ended(project: Project, id: str, days_ago: float, size: int = 1000) -> None:
    log = log_of(project, id)
    log.step(step(1, "x" * size))
    log.close()
    then = time.time() - days_ago * 86400
    os.utime(log.dir / "steps.jsonl", (then, then))


def test_old_sessions_are_pruned_by_age(project: Project) -> None:
    ended(project, "20260101-101112-a", 100)
    ended(project, "20260102-101112-b", 80)
    assert prune(project, keep_days=0, keep_mb=0) == []
    assert prune(project, keep_days=90, keep_mb=0) == ["20260101-101112-a"]
    assert [s.id for s in list_sessions(project)] == ["20260102-101112-b"]


def test_the_oldest_are_pruned_while_all_are_too_large(project: Project) -> None:
    for n in range(4):
        log = log_of(project, f"2026010{n + 1}-101112-a", started=n + 1)
        log.step(step(1, "x" * 10_000))
        log.close()
    removed = prune(project, keep_days=0, keep_mb=0.025)
    assert removed == ["20260101-101112-a", "20260102-101112-a"]


def test_a_running_session_is_never_pruned_nor_is_one_about_to_begin(
    project: Project, running: subprocess.Popen[str]
) -> None:
    path = project.state / "20200101-101112-claude" / "steps.jsonl"
    os.utime(path, (1, 1))
    begun = new_session_id(time.time(), "shell", project.state)
    assert prune(project, keep_days=1, keep_mb=0.001) == []
    assert {s.id for s in list_sessions(project)} == {begun, "20200101-101112-claude"}
    (project.state / "bank.toml.good").touch()
    running.kill()
    running.wait()
    assert prune(project, keep_days=1, keep_mb=0) == ["20200101-101112-claude"]
    assert (project.state / "bank.toml.good").exists()


def test_a_link_among_the_sessions_is_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "steps.jsonl").touch()
    project.state.mkdir(parents=True)
    (project.state / "20200101-101112-x").symlink_to(tmp_path / "precious")
    assert prune(project, keep_days=1, keep_mb=0.001) == []
    assert (tmp_path / "precious" / "steps.jsonl").exists()


def test_a_session_in_which_nothing_happened_leaves_no_log(project: Project) -> None:
    log = log_of(project)
    log.close()
    assert not log.dir.exists()
    log = log_of(project)
    log.step(step(1))
    log.close()
    log_of(project).close()  # the same log taken up again, and nothing more happened
    assert len(read_steps(log.dir).steps) == 1
