"""`--record` and the setting `record`: a recording in the session's directory, which plays."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import asciinema
from rig import Rig, host_env

from shells import write_rc

Start = Callable[..., Rig]
PMEM = [sys.executable, "-m", "pmem"]


@pytest.fixture
def project(home: Path) -> Path:
    project = home / "project"
    (project / ".git").mkdir(parents=True)
    return project


def recording(home: Path) -> tuple[Path, dict[str, Any], list[list[Any]]]:
    """The only recording there is: its path, header and events."""
    (path,) = home.rglob("terminal.cast")
    header, *rest = path.read_text("utf-8").splitlines()
    return path, json.loads(header), [json.loads(line) for line in rest]


def test_a_recorded_run_plays_as_it_was_seen(bare: Start, home: Path, project: Path) -> None:
    script = r"printf '\033[1;32mgrün 한글\033[0m\n'; read x; stty size; cat blob"
    (project / "blob").write_bytes(bytes(range(32, 127)) * 90 + b"\r\n\x1b[2J\x1b[Hend\n")
    rig = bare(
        *PMEM, "run", "--quiet", "--record", "--", "sh", "-c", script, env=host_env(), cwd=project
    )
    rig.expect("한글.*\n")
    rig.resize(31, 90)
    rig.for_a_while(0.3)
    rig.send("go\r")
    assert rig.wait() == 0
    path, header, events = recording(home)
    assert (header["width"], header["height"]) == (80, 24)
    assert [text for _, kind, text in events if kind == "r"] == ["90x31"]
    assert {kind for _, kind, _ in events} == {"o", "r"}
    played = subprocess.run(
        [*asciinema(), "cat", str(path)], capture_output=True, check=True, env=host_env()
    )
    assert played.stdout == bytes(rig.output)
    steps = (path.parent / "steps.jsonl").read_text().splitlines()
    assert json.loads(steps[0])["session"] == path.parent.name


def test_a_shell_is_recorded_by_the_setting_and_what_is_typed_unseen_is_not_in_it(
    bare: Start, home: Path, project: Path
) -> None:
    write_rc(home, "bash")
    rig = bare(*PMEM, "shell", "--shell", "bash", env=host_env({"PMEM_RECORD": "1"}), cwd=project)
    rig.expect("> ")
    rig.line("read -s -p 'pass: ' x; echo; echo ${#x}")
    rig.expect("pass: ")
    rig.for_a_while(0.2)
    rig.line("hunter22")
    rig.expect("8\r\n")
    rig.line("exit")
    assert rig.wait() == 0
    path, header, events = recording(home)
    assert "asciinema play ~/.local/state/pmem/" in rig.output.decode()
    shown = "".join(text for _, kind, text in events if kind == "o")
    assert "echo ${#x}" in shown and "hunter22" not in path.read_text()
    assert "6973" not in shown
    assert header["command"] == "bash"


def test_without_a_terminal_a_word_says_that_nothing_is_recorded(home: Path, project: Path) -> None:
    done = subprocess.run(
        [*PMEM, "run", "--record", "--", "echo", "on"],
        cwd=project,
        env=host_env(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (0, "on\n")
    assert "no terminal, so nothing is recorded" in done.stderr
    assert not list(home.rglob("terminal.cast"))
