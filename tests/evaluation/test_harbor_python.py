"""Which interpreter runs Harbor, and what is said where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pmem.evaluation.harbor_job import counted, dataset
from pmem.evaluation.harbor_python import NAMED, Found, NoHarbor, find

TASKS = Path(__file__).parent / "harbor_tasks"
OWN = sys.executable


def stand_in(path: Path, code: int, says: str = "") -> str:
    """An interpreter, as far as it is asked here: what it says, and how it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture(autouse=True)
def without_harbor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path / "own" / "python", 3))


def test_the_one_that_is_named_comes_first(tmp_path: Path) -> None:
    named = stand_in(tmp_path / "named" / "python", 0, "0.26.0")
    stand_in(tmp_path / "bin" / "python3.13", 0, "0.26.9")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert find({NAMED: named, "PATH": path}) == Found(named, "0.26.0")
    assert find({"PATH": path}).version == "0.26.9"


def test_it_is_found_behind_the_command_harbor(tmp_path: Path) -> None:
    python = stand_in(tmp_path / "tool" / "bin" / "python", 0, "0.26.0")
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "harbor"
    script.write_text(f"#!{python}\nimport harbor\n")
    script.chmod(0o755)
    assert find({"PATH": str(tmp_path / "bin")}) == Found(python, "0.26.0")


def test_what_lacks_something_is_passed_over_and_told(tmp_path: Path) -> None:
    alone = stand_in(tmp_path / "bin" / "python3.14", 5)
    stand_in(tmp_path / "bin" / "python3.12", 4)
    with pytest.raises(NoHarbor, match=f"{alone} has Harbor but not pmem; install pmem there too"):
        find({"PATH": str(tmp_path / "bin")})
    stand_in(tmp_path / "bin" / "python3", 0, "0.26.1")
    assert find({"PATH": str(tmp_path / "bin")}).version == "0.26.1"


def test_a_named_one_that_is_no_use_is_said_to_be_so(tmp_path: Path) -> None:
    named = stand_in(tmp_path / "python", 4)
    with pytest.raises(NoHarbor, match=f"{NAMED} is {named}, which has no Harbor"):
        find({NAMED: named, "PATH": ""})
    with pytest.raises(NoHarbor, match="/nowhere/python, which does not start"):
        find({NAMED: "/nowhere/python", "PATH": ""})


def test_without_any_it_says_what_to_install() -> None:
    with pytest.raises(NoHarbor, match=r"(?s)(needs Python 3.12|not installed).*harbor"):
        find({"PATH": ""})


def test_pmem_says_so_in_one_line_and_writes_nothing(tmp_path: Path) -> None:
    words = ["-m", "pmem", "eval", "tb2", "--arm", "off", "--action-model", "openai:m"]
    done = subprocess.run(
        [OWN, *words, "--to", "run"],
        cwd=tmp_path,
        env={**os.environ, NAMED: "/nowhere/python"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert "/nowhere/python, which does not start" in done.stderr
    assert not (tmp_path / "run").exists()


def test_what_is_run_is_said_as_harbor_has_it() -> None:
    task = TASKS / "build-it"
    assert dataset(task, []) == {"tasks": [{"path": str(task)}]}
    assert dataset(None, ["a*"]) == {
        "datasets": [{"name": "terminal-bench", "version": "2.0", "task_names": ["a*"]}]
    }
    assert counted(task, []) == counted(TASKS, ["build*"]) == ["build-it"]
    assert counted(TASKS, ["no"]) == []
    assert (len(counted(None, [])), counted(None, ["a", "b"])) == (89, ["a", "b"])
