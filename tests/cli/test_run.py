"""`pmem run` without a terminal: the program is what it is without pmem."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest


def run(
    *args: str, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pmem", *args],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def tree(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*")}


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -9 $$", 137)]
)
def test_the_exit_code_is_the_programs_own(project: Path, script: str, code: int) -> None:
    assert run("run", "--", "sh", "-c", script, cwd=project).returncode == code


def test_nothing_is_added_to_what_the_program_writes(project: Path) -> None:
    done = run("run", "sh", "-c", "echo out; echo err >&2", cwd=project)
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_what_stands_after_the_program_belongs_to_it(project: Path) -> None:
    words = ("--quiet", "--", "--help", "-h", "--task")
    for before in ((), ("--",), ("--quiet",), ("--interval", "9", "--")):
        done = run("run", *before, "printf", "%s\n", *words, cwd=project)
        assert done.stdout.split() == list(words)


def test_options_may_stand_before_the_command_too(project: Path) -> None:
    assert run("--quiet", "run", "--", "echo", "hi", cwd=project).stdout == "hi\n"


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("no-such-program", 127, "not found"),
        ("./no-such-file", 127, "no such file"),
        ("./plain", 126, "not executable"),
        ("./folder", 126, "is a directory"),
    ],
)
def test_what_cannot_be_started_is_said_as_env_does(
    project: Path, name: str, code: int, words: str
) -> None:
    (project / "plain").write_text("#!/bin/sh\n")
    (project / "folder").mkdir()
    before = tree(project)
    done = run("run", "--", name, cwd=project)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("pmem: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert tree(project) == before


def test_a_script_without_a_first_line_is_run_by_sh(project: Path) -> None:
    script = project / "script"
    script.write_text("echo ran\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    for env in ({}, {"PMEM": "off"}):
        assert run("run", "./script", cwd=project, env=env).stdout == "ran\n"


def test_a_foreign_directory_is_left_alone(project: Path) -> None:
    (project / ".pmem").mkdir()
    (project / ".pmem" / "theirs").write_text("keep")
    done = run("run", "--", "echo", "hi", cwd=project)
    assert (done.returncode, done.stdout) == (125, "")
    assert "belongs to another tool" in done.stderr
    assert tree(project) == {".pmem", ".pmem/theirs"}


def test_off_means_the_program_alone(project: Path, home: Path) -> None:
    done = run("run", "--", "sh", "-c", 'echo "$PMEM_ACTIVE-"', cwd=project, env={"PMEM": "off"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "-\n", "")
    assert tree(project) == tree(home) == set()


def test_a_program_run_with_memory_off_gets_its_signals_as_they_were(project: Path) -> None:
    script = "yes | head -n 1; echo ${PIPESTATUS[0]}"
    done = run("run", "--", "bash", "-c", script, cwd=project, env={"PMEM": "off"})
    assert done.stdout.split() == ["y", "141"]


def test_a_pmem_inside_a_pmem_adds_nothing_and_says_so(project: Path) -> None:
    inner = f"{sys.executable} -m pmem run -- sh -c 'echo inner; exit 3'"
    done = run("run", "--", "sh", "-c", inner, cwd=project)
    assert (done.returncode, done.stdout) == (3, "inner\n")
    assert done.stderr == "pmem: already under memory here; sh runs as it is\n"


def test_a_task_that_cannot_be_read_is_told(project: Path) -> None:
    done = run("run", "--task", "@missing.md", "true", cwd=project)
    assert done.returncode == 2
    assert "missing.md" in done.stderr


def test_settings_that_cannot_be_read_are_told_with_their_place(project: Path) -> None:
    (project / ".pmem").mkdir()
    (project / ".pmem" / "pmem.toml").write_text("interval = \n")
    done = run("run", "--", "echo", "hi", cwd=project)
    assert (done.returncode, done.stdout) == (125, "")
    assert "pmem.toml" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_directory_that_was_deleted_stops_nothing(project: Path) -> None:
    command = f'rmdir "$PWD"; exec {sys.executable} -m pmem run -- echo hi'
    gone = project / "gone"
    gone.mkdir()
    done = subprocess.run(["sh", "-c", command], cwd=gone, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "hi\n")


def test_an_agent_inside_a_session_joins_it(project: Path, tmp_path: Path) -> None:
    """Two of them, one in the other, and one that is started as ever."""
    agent = tmp_path / "bin" / "pmem-scripted-agent"
    agent.parent.mkdir()
    agent.write_text(
        "#!/bin/sh\n"
        'printf \'{"event": "observed", "step": {"kind": "command", '
        f'"action": "make %s", "observation": "", "exit_code": 2}}}}\' "$1" | sh -c "$PMEM_HOOK"\n'
        f'[ $# = 1 ] || {{ shift; {sys.executable} -m pmem run pmem-scripted-agent "$@"; }}\n'
        "exit 5\n"
    )
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    env = {"PATH": f"{agent.parent}:{os.environ['PATH']}"}
    inner = f"{sys.executable} -m pmem run pmem-scripted-agent one two; echo $?"
    done = run("run", "--", "sh", "-c", inner, cwd=project, env=env)
    assert (done.stdout, done.stderr) == ("5\n", "")
    steps = [json.loads(line) for line in run("log", "--json", cwd=project).stdout.splitlines()]
    assert [step["action"] for step in steps] == ["make one", "make two"]
    lanes = {step["agent_id"] for step in steps}
    assert len(lanes) == 2
    assert all(lane.startswith("scripted-") for lane in lanes)


def test_what_outlives_its_session_starts_one_of_its_own(project: Path) -> None:
    """As the shells of a tmux that was started under pmem."""
    left = run("run", "--", "sh", "-c", "env | grep ^PMEM_", cwd=project).stdout
    env = dict(line.split("=", 1) for line in left.splitlines())
    assert "PMEM_SOCK" in env
    done = run("run", "--", "sh", "-c", 'echo "$PMEM_SOCK"', cwd=project, env=env)
    assert done.stderr == ""
    assert done.stdout.strip() != env["PMEM_SOCK"]
