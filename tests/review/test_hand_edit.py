"""A person edits bank.toml in an editor while a real session runs: nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from screens import PATIENCE, Screen

from pmem.store import bank_rescue
from pmem.store.bank_toml import BankError
from pmem.store.project import Project


def entries(project: Project) -> dict[str, str]:
    """What stands in the file; nothing is opened that would write it."""
    try:
        return {
            e.id: e.content for e in bank_rescue.read(project.bank.read_bytes()).entries.values()
        }
    except (OSError, BankError):
        return {}


def until(project: Project, *ids: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not entries(project).keys() >= set(ids):
        assert time.monotonic() < deadline, f"{ids} never stood in {sorted(entries(project))}"
        time.sleep(0.05)


def test_an_older_copy_saved_while_a_shell_runs(
    terminal: Callable[..., Screen], project: Project, home: Path
) -> None:
    (home / ".bashrc").write_text("PS1='ready> '\n")
    screen = terminal(100, 30, "shell", "--shell", "bash")
    screen.until("ready>")
    screen.type("make one")
    screen.keys("Enter")
    until(project, "make-one")
    opened = project.bank.read_text()
    screen.type("make two")
    screen.keys("Enter")
    until(project, "make-two")
    mine = '\n[[knowledge]]\nid = "by-hand"\ncontent = "손으로 쓴 사실"\n'
    edited = opened.replace("The server listens on port 5433.", "The server listens on port 6000.")
    new = project.bank.with_suffix(".swp")
    new.write_text(edited + mine)
    new.replace(project.bank)
    screen.type("make three")
    screen.keys("Enter")
    until(project, "make-one", "make-two", "make-three", "by-hand")
    screen.type("exit")
    screen.keys("Enter")
    screen.until("ended")
    found = entries(project)
    assert found["by-hand"] == "손으로 쓴 사실"
    assert found["port"] == "The server listens on port 6000."
    assert {"make-one", "make-two", "make-three", "npm-test", "no-force-push"} <= found.keys()
