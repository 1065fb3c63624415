"""Without a terminal a program runs with the stdio pmem was given."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rig import host_env

RUN = (
    "import os, sys; from pmem.terminal.plain import run_plain; "
    "sys.exit(run_plain(sys.argv[1:], os.environ))"
)


def start(*argv: str, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", RUN, *argv]
    return subprocess.Popen(command, env=host_env(), **options)  # type: ignore[call-overload]


def run(*argv: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *argv],
        env=host_env(), capture_output=True, timeout=30, **options,  # type: ignore[call-overload]
    )  # fmt: skip


def test_stdin_stdout_and_stderr_are_the_programs_own() -> None:
    result = run("sh", "-c", "cat; echo err >&2", input=bytes(range(256)))
    assert result.stdout == bytes(range(256))
    assert result.stderr == b"err\n"


@pytest.mark.parametrize(
    ("command", "code"), [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)]
)
def test_the_exit_code_is_the_programs_own(command: str, code: int) -> None:
    assert run("sh", "-c", command).returncode == code


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "USR2"])
def test_a_signal_reaches_the_program(name: str) -> None:
    process = start(
        "sh", "-c", f"trap 'exit 9' {name}; echo ready; while :; do sleep 0.05; done",
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(getattr(signal, f"SIG{name}"))
    assert process.wait(20) == 9
    process.stdout.close()


def test_a_program_that_stops_stops_pmem_too() -> None:
    process = start("sh", "-c", "kill -STOP $$; exit 3")
    stat = Path(f"/proc/{process.pid}/stat")
    deadline = time.monotonic() + 20
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGCONT)
    assert process.wait(20) == 3


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["nosuch-program"], 127, b"command not found"),
        (["./plain"], 126, b"not executable"),
        (["./orphan"], 127, b"interpreter"),
        (["/"], 126, b"is a directory"),
    ],
)
def test_what_cannot_be_started_is_told(
    tmp_path: Path, argv: list[str], code: int, words: bytes
) -> None:
    (tmp_path / "plain").write_text("text")
    (tmp_path / "orphan").write_text("#!/no/such/interpreter\n")
    (tmp_path / "orphan").chmod(0o755)
    result = run(*argv, cwd=tmp_path)
    assert result.returncode == code
    assert result.stderr.startswith(b"pmem: ") and words in result.stderr
    assert result.stderr.count(b"\n") == 1


def test_a_script_without_an_interpreter_line_is_run_by_sh(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("echo ran $1\n")
    (tmp_path / "script").chmod(0o755)
    assert run("./script", "one", cwd=tmp_path).stdout == b"ran one\n"


def test_a_closed_pipe_ends_a_program_quietly() -> None:
    result = run("bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}")
    assert result.stdout == b"y\n141\n"
    assert result.stderr == b""


def test_inherited_descriptors_reach_the_program(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        process = start("bash", "-c", f"echo through >&{log.fileno()}", pass_fds=[log.fileno()])
        assert process.wait(20) == 0
    assert (tmp_path / "log").read_bytes() == b"through\n"
