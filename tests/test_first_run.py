"""An hour's work in small: a real shell under memory, in a real pty, and what is left of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

PMEM = [sys.executable, "-m", "pmem"]
PROMPT = "ready> "
HEADER = "[MEMORY REMINDER]"
BUILD = "echo 'src/a.c:3: error: missing ;' >&2; exit 2\n"


class Shell:
    """`pmem shell` at its prompt."""

    def __init__(self, project: Path, *options: str) -> None:
        self.child = pexpect.spawn(
            PMEM[0],
            [*PMEM[1:], "shell", "--shell", "bash", *options],
            cwd=str(project),
            encoding="utf-8",
            dimensions=(50, 120),
            timeout=20,
        )
        self.child.expect_exact(PROMPT)

    def run(self, command: str) -> str:
        """Enter a command; what stands on the screen up to the next prompt."""
        self.child.sendline(command)
        self.child.expect_exact(PROMPT)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.child.before or "")

    def leave(self) -> str:
        """Exit; the last words, the end line among them."""
        self.child.sendline("exit")
        self.child.expect(pexpect.EOF)
        self.child.close()
        return str(self.child.before)


@pytest.fixture
def project(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with a build that fails, and a bash with a plain prompt."""
    # On a busy machine the answer may come later than a person is made to wait.
    monkeypatch.setenv("PMEM_PATIENCE", "10")
    (home / ".bashrc").write_text(f"PS1='{PROMPT}'; bind 'set enable-bracketed-paste off'\n")
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    (project / "build.sh").write_text(BUILD)
    (project / "notes.txt").write_text("notes\n")
    return project


@pytest.fixture
def shell(project: Path) -> Iterator[Callable[..., Shell]]:
    """Starts shells, and ends what is left of them."""
    started: list[Shell] = []

    def start(*options: str) -> Shell:
        started.append(Shell(project, *options))
        return started[-1]

    yield start
    for one in started:
        one.child.close(force=True)


def pmem(project: Path, *args: str) -> str:
    """The output of a pmem command that must succeed."""
    done = subprocess.run(
        [*PMEM, *args], cwd=project, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def bank(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pmem(project, "bank", "list", "--json"))
    return found


def written(home: Path, project: Path) -> list[Path]:
    """Every file pmem wrote."""
    places = (home / ".local" / "state" / "pmem", project / ".pmem")
    return [p for place in places for p in place.rglob("*") if p.is_file()]


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    stop = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > stop:
            return False
        time.sleep(0.05)
    return True


def test_the_third_identical_failure_is_told_before_its_output(
    shell: Callable[..., Shell], project: Path
) -> None:
    sh = shell()
    assert HEADER not in sh.run("sh build.sh") + sh.run("sh build.sh") + sh.run("cat notes.txt")
    screen = sh.run("sh build.sh")
    assert screen.index(HEADER) < screen.index("\nsrc/a.c:3: error")
    assert "steps 1 and 2" in screen
    assert "1 reminder" in sh.leave()
    [entry] = [e for e in bank(project)["procedural"] if e["command"] == "sh build.sh"]
    assert entry["attempts"] == 3
    assert entry["exit_code"] == 2
    assert "missing ;" in entry["output"]


def test_it_says_nothing_when_a_file_was_changed_in_another_window(
    shell: Callable[..., Shell], project: Path
) -> None:
    sh = shell()
    sh.run("sh build.sh")
    sh.run("sh build.sh")
    sh.run("cat notes.txt")
    (project / "notes.txt").write_text("changed\n")
    assert HEADER not in sh.run("sh build.sh")


def test_a_prohibition_is_shown_with_its_line_before_the_output(
    shell: Callable[..., Shell], project: Path
) -> None:
    (project / "AGENTS.md").write_text(
        "# Rules\n\nNever run `sh release.sh`.\n`sh wipe.sh`는 절대 실행하지 마세요.\n"
    )
    (project / "release.sh").write_text("echo released\n")
    (project / "wipe.sh").write_text("echo wiped\n")
    sh = shell()
    for command, place, output in (
        ("sh release.sh", "AGENTS.md:3", "released"),
        ("sh wipe.sh", "AGENTS.md:4", "wiped"),
    ):
        sh.child.sendline(command)
        sh.child.expect_exact("ctrl-C drops it")
        assert HEADER in sh.child.before and place in sh.child.before
        assert f"\n{output}" not in sh.child.before
        sh.child.sendline("")
        sh.child.expect_exact(output)
        sh.child.expect_exact(PROMPT)
    for command in ("sh build.sh", "cat release.sh", "echo sh release.sh", "ls"):
        assert HEADER not in sh.run(command)


def test_exit_codes_are_the_childs_own() -> None:
    def code(*command: str) -> int:
        return subprocess.run([*PMEM, "run", "--", *command], timeout=60, check=False).returncode

    assert code("sh", "-c", "exit 7") == 7
    assert code("sh", "-c", "kill -TERM $$") == 143
    assert code("no-such-command") == 127


def test_a_killed_terminal_process_leaves_no_process_and_a_bank_that_loads(
    shell: Callable[..., Shell], project: Path
) -> None:
    sh = shell()
    sh.run("sh build.sh")
    sh.child.sendline("sleep 60")
    children = f"/proc/{sh.child.pid}/task/{sh.child.pid}/children"
    if not Path(children).exists():
        pytest.skip("the system does not list a process's children in /proc")
    pids = [int(pid) for pid in Path(children).read_text().split()]
    assert len(pids) == 2
    os.kill(sh.child.pid, signal.SIGKILL)
    assert eventually(lambda: not any(running(pid) for pid in pids), 5.0)
    assert bank(project)["procedural"][0]["command"] == "sh build.sh"
    steps = [json.loads(line) for line in pmem(project, "log", "--json").splitlines()]
    assert steps[-1]["action"] == "sh build.sh"


def running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:4]
    except OSError:
        return False


def test_a_removed_directory_comes_back_in_mid_session(
    shell: Callable[..., Shell], project: Path
) -> None:
    sh = shell()
    sh.run("sh build.sh")
    file = project / ".pmem" / "bank.toml"
    assert eventually(file.exists)
    sh.run("rm -rf .pmem")
    assert eventually(file.exists)
    sh.leave()
    commands = [e["command"] for e in bank(project)["procedural"]]
    assert commands == ["sh build.sh", "rm -rf .pmem"]


def test_a_token_is_in_no_file_and_a_commit_beside_it_is(
    shell: Callable[..., Shell], project: Path, home: Path
) -> None:
    token, commit = "ghp_" + "k3Rz" * 9, "9fceb02d0ae598e95dc970b74767f19372d61af8"
    (project / "print.sh").write_text(f"echo 'token {token}'; echo 'commit {commit}'; exit 1\n")
    sh = shell()
    sh.run("sh print.sh")
    sh.run(f"git ls-remote https://user:{token}@127.0.0.1:9/x.git")
    sh.leave()
    everything = b"".join(file.read_bytes() for file in written(home, project))
    assert token.encode() not in everything
    assert commit.encode() in everything


@pytest.mark.slow
def test_after_a_thousand_steps_the_project_looks_as_it_would_without(
    shell: Callable[..., Shell], project: Path
) -> None:
    (project / "test_one.py").write_text("def test_one():\n    assert True\n")
    looks = (
        "grep -rn notes . | sort",
        "find . -not -path './.git/*' | sort",
        f"{sys.executable} -m pytest -q -p no:cacheprovider | sed 's/ in .*//'",
    )
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def seen() -> list[str]:
        return [
            subprocess.run(
                look, shell=True, cwd=project, env=env, capture_output=True, text=True, check=True
            ).stdout
            for look in looks
        ]

    before = seen()
    sh = shell()
    for n in range(1000):
        sh.run(f"echo notes {n}")
    during = seen()
    assert "1000 steps" in sh.leave()
    own = re.compile(r"^\./\.pmem.*\n", re.MULTILINE)
    assert [own.sub("", look) for look in during] == before
    files = sorted(p.name for p in (project / ".pmem").iterdir())
    assert files == [".gitignore", "archive.jsonl", "bank.toml", "pmem.toml"]
    assert len(bank(project)["procedural"]) == 500


@pytest.mark.slow
def test_two_shells_at_full_speed_lose_no_attempt(
    shell: Callable[..., Shell], project: Path
) -> None:
    (project / "a.sh").write_text("exit 0\n")
    shells = [shell(), shell()]
    for n in range(200):
        for name, sh in zip("ab", shells, strict=True):
            sh.child.sendline(f"sh a.sh {name}{n % 100}")
    for sh in shells:
        for _ in range(200):
            sh.child.expect_exact(PROMPT)
        sh.leave()
    entries = {e["command"]: e["attempts"] for e in bank(project)["procedural"]}
    assert entries == {f"sh a.sh {name}{n}": 2 for name in "ab" for n in range(100)}


def test_a_past_is_offered_once_at_the_first_run(
    shell: Callable[..., Shell], project: Path, home: Path
) -> None:
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(project))
    past = home / ".claude" / "projects" / slug / "s.jsonl"
    past.parent.mkdir(parents=True)
    past.write_text("{}\n")
    first = shell()
    assert "pmem replay --here" in first.child.before
    first.leave()
    assert "pmem replay --here" not in shell().child.before
