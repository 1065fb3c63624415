"""`pmem` on a terminal: the line at the start, the line at the end, the picker, the shell."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pexpect
import pytest


def spawn(args: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> pexpect.spawn:
    return pexpect.spawn(
        sys.executable,
        ["-m", "pmem", *args],
        cwd=str(cwd),
        env={**os.environ, "NO_COLOR": "1", **(env or {})},
        dimensions=(24, 100),
        timeout=30,
        encoding="utf-8",
    )


def finished(child: pexpect.spawn) -> tuple[str, int]:
    text = child.read()
    child.close()
    code = child.exitstatus if child.exitstatus is not None else 128 + (child.signalstatus or 0)
    return text.replace("\r\n", "\n"), code


def test_a_run_is_told_at_its_start_and_at_its_end(project: Path) -> None:
    text, code = finished(spawn(["run", "--", "sh", "-c", "echo working; exit 7"], project))
    first, middle, last = text.splitlines()
    assert first == (
        "pmem: rules · 0 entries · .pmem/bank.toml · sh tells pmem nothing, it runs as it is"
    )
    assert middle == "working"
    assert last == ("pmem: 0 steps · 0 reminders · 0 new entries · .pmem/bank.toml · pmem review")
    assert code == 7


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_that_is_run_as_it_is_is_told_how_it_is_recorded(name: str, project: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    told = f"{name} runs as it is; pmem shell --shell {name} records what is entered"
    child = spawn(["run", name], project)
    child.expect_exact(told)
    child.sendline("exit")
    assert told not in finished(spawn(["run", name, "-c", "exit"], project))[0]
    assert finished(child)[1] == 0


def test_a_program_that_ends_before_memory_is_ready_is_no_trouble(
    project: Path, short_dir: Path, home: Path
) -> None:
    for _ in range(3):
        child = spawn(["run", "true"], project, {"XDG_RUNTIME_DIR": str(short_dir)})
        assert finished(child)[1] == 0
    deadline = time.monotonic() + 20
    while any(short_dir.glob("pmem/*")):  # these sessions go on for a moment
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert list(home.rglob("errors.log")) == []


@pytest.mark.parametrize("how", ["flag", "variable", "file"])
def test_quiet_drops_both_lines(project: Path, how: str) -> None:
    args, env = ["run", "echo", "hi"], {}
    if how == "flag":
        args.insert(1, "--quiet")
    elif how == "variable":
        env["PMEM_QUIET"] = "1"
    else:
        (project / ".pmem").mkdir()
        (project / ".pmem" / "pmem.toml").write_text("quiet = true\n")
    assert finished(spawn(args, project, env)) == ("hi\n", 0)


def test_the_program_has_a_terminal_of_its_own(project: Path) -> None:
    text, code = finished(spawn(["run", "-q", "sh", "-c", "test -t 0 && stty size"], project))
    assert (text, code) == ("24 100\n", 0)


def test_what_a_settings_file_does_wrong_is_told_before_the_program(project: Path) -> None:
    (project / ".pmem").mkdir()
    (project / ".pmem" / "pmem.toml").write_text("intervall = 3\n")
    text, _ = finished(spawn(["run", "echo", "hi"], project))
    assert "there is no setting 'intervall'; did you mean interval?" in text.splitlines()[0]


def agent(directory: Path, name: str) -> None:
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\necho this is {name}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_plain_pmem_starts_the_one_agent_there_is(project: Path, tmp_path: Path) -> None:
    agent(tmp_path / "bin", "claude")
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    text, code = finished(spawn([], project, env))
    assert "this is claude" in text
    assert code == 0


def test_an_agent_that_is_not_on_path_is_found_where_it_is_installed(
    project: Path, home: Path
) -> None:
    (home / ".local").mkdir()
    agent(home / ".local" / "bin", "claude")
    for args in (["claude", "--version"], ["run", "claude"], ["--quiet", "claude"]):
        text, code = finished(spawn(args, project, {"PATH": "/usr/bin:/bin"}))
        assert "this is claude" in text
        assert code == 0


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="there is no bash")
def test_plain_pmem_without_an_agent_starts_the_shell(project: Path, home: Path) -> None:
    (home / ".bashrc").write_text("PS1='ready> '\n")
    child = spawn([], project, {"PATH": "/usr/bin:/bin", "SHELL": "/bin/bash"})
    child.expect_exact("no agent CLI found here; starting your shell")
    child.expect_exact("ready> ")
    child.sendline("echo $((6 * 7)); exit 3")
    text, code = finished(child)
    assert "42" in text
    assert re.search(r"pmem: \d+ steps? · 0 reminders · ", text)
    assert code == 3


def test_a_bank_is_counted_at_the_start_whoever_wrote_it_last(project: Path) -> None:
    add = ["bank", "add", "Never force-push."]
    finished(spawn(add, project))
    assert "pmem: rules · 1 entry · " in finished(spawn(["run", "true"], project))[0]
    bank = project / ".pmem" / "bank.toml"
    bank.write_text(bank.read_text("utf-8") + '\n[[knowledge]]\ncontent = "Mine."\n', "utf-8")
    assert "pmem: rules · 2 entries · " in finished(spawn(["run", "true"], project))[0]


def test_a_broken_bank_is_told_before_the_program_starts(project: Path) -> None:
    finished(spawn(["bank", "add", "Never force-push."], project))
    (project / ".pmem" / "bank.toml").write_text("[[knowledge\n")
    lines = finished(spawn(["run", "echo", "working"], project))[0].splitlines()
    assert lines[0].startswith("pmem: rules · 1 entry · ")
    assert "bank.toml.broken-" in " ".join(lines[1 : lines.index("working")])
    assert (project / ".pmem" / "bank.toml").read_text("utf-8").count("[[knowledge]]") == 1


def test_of_several_agents_one_is_chosen_or_the_setting_chooses(
    project: Path, tmp_path: Path
) -> None:
    from pmem.agents.registry import ADAPTERS

    names = [a.name for a in ADAPTERS.values() if a.tells and a.name != "scripted"]
    if len(names) < 2:
        pytest.skip("pmem knows but one agent")
    for name in names:
        agent(tmp_path / "bin", ADAPTERS[name].binary)
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    child = spawn([], project, env)
    child.expect_exact("Start which one?")
    child.expect_exact("Esc leave")
    child.send("2")
    text, code = finished(child)
    assert f"this is {ADAPTERS[names[1]].binary}" in text
    assert code == 0
    child = spawn([], project, env)
    child.expect_exact("Esc leave")
    child.send("q")
    assert finished(child)[1] == 130
    text, _ = finished(spawn([], project, {**env, "PMEM_AGENT": names[1]}))
    assert f"this is {ADAPTERS[names[1]].binary}" in text
