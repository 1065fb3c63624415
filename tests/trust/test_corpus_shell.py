"""The corpus of secrets through a person's shell, and into what a model is asked: nothing leaks."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pexpect
import pytest
from corpus import look_alikes, secrets

from pmem.core.event import Proposed
from pmem.core.redact import PRIVATE
from pmem.session.shell_intake import to_event

#: Plays the memory agent: keeps what it was asked, answers nothing.
MODEL = """\
#!{python}
import sys
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(sys.stdin.read())
print("<no_intervention/>")
"""


@pytest.mark.parametrize("command", [" export A=1", "\tmake", "  vault read x"])
def test_a_line_that_begins_with_a_blank_is_kept_out(command: str) -> None:
    assert to_event({"type": "entered", "command": command}) is None
    step = to_event({"type": "finished", "command": command, "output": "x", "exit_code": 0})
    assert step is not None and "x" not in repr(step).replace("exit", "").replace("text", "")
    assert isinstance(to_event({"type": "entered", "command": command.strip()}), Proposed)


def test_what_a_shell_shows_leaks_neither_to_the_disk_nor_to_a_model(
    tmp_path: Path, home: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    log = tmp_path / "asked.txt"
    model = tmp_path / "model"
    model.write_text(MODEL.format(python=sys.executable, log=str(log)))
    model.chmod(stat.S_IRWXU)
    everything, plain = secrets(), look_alikes()
    commands = []
    for number in range(6):
        part = [s.text for s in everything[number::6]] + [s.text for s in plain[number::6]]
        (root / f"part{number}").write_text("\n".join(part) + "\n", "utf-8")
        commands.append(f"sh -c 'cat part{number}; exit 1'")
    commands.append("echo '<private>between us</private>' \"$(cat part0 | head -3)\"")
    commands.append(f" echo kept-out {everything[0].text}")
    (home / ".bashrc").write_text("PS1='ready> '\n")
    shell = pexpect.spawn(
        sys.executable,
        ["-m", "pmem", "--quiet", "--mode", "sync", "shell"],
        cwd=str(root),
        env={
            **os.environ,
            "SHELL": "/bin/bash",
            "PMEM_MODEL": f"command:{model}",
            "PMEM_INTERVAL": "1",
            "PMEM_SECRETS": "EMPLOYEE-[0-9]+",
        },
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 400),
    )
    shell.expect_exact("[y/N] ")
    shell.sendline("y")
    for command in [*commands, "echo EMPLOYEE-7788123"]:
        shell.expect_exact("ready> ")
        shell.sendline(command)
    shell.expect_exact("ready> ")
    shell.sendline("exit")
    shell.expect(pexpect.EOF)
    shell.close()

    files = [
        p for place in (root / ".pmem", home / ".local") for p in place.rglob("*") if p.is_file()
    ]
    texts = {p.name: p.read_text("utf-8", "replace") for p in files}
    texts["asked"] = log.read_text("utf-8") if log.exists() else ""
    assert {"bank.toml", "steps.jsonl", "asked"} <= texts.keys()
    every = "\n".join(texts.values())
    assert every.count("…[redacted ") > 300 and PRIVATE in every
    assert [s.kind for s in everything for part in s.parts if part in every] == []
    assert "between us" not in every and "kept-out" not in every and "7788123" not in every
    steps = texts["steps.jsonl"]
    kept = [s for s in plain if '"' not in s.text and "\\" not in s.text]
    assert len(kept) > 250
    assert [s.kind for s in kept if s.text not in steps] == []
