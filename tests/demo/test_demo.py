"""The demonstration: a real session of a scripted agent, and what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pexpect
import pytest

PACKAGE = Path(__file__).parent.parent.parent / "pmem"
WAY = "PHRASES=phrases.txt sh test.sh"


def pmem(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pmem", *args],
        cwd=cwd,
        env={**surroundings(), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def surroundings() -> dict[str, str]:
    """The environment without what is the user's own, for what is started before a test is."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PMEM", "XDG_"))}


def told_project(words: str) -> Path:
    found = re.search(r"cd (\S+/greet) &&", words)
    assert found is not None, words
    return Path(found[1])


@pytest.fixture(scope="module")
def shown(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """One run of `pmem demo --fast` without a terminal, and its project."""
    place = tmp_path_factory.mktemp("demo")
    done = pmem("demo", "--fast", cwd=place, TMPDIR=str(place), HOME=str(place))
    assert done.returncode == 0, done.stdout + done.stderr
    return done, told_project(done.stdout)


Shown = tuple[subprocess.CompletedProcess[str], Path]


def lines(shown: Shown, *more: str) -> list[dict[str, Any]]:
    """`pmem log` of the demonstration."""
    project = shown[1]
    done = pmem("log", "--json", *more, cwd=project, HOME=str(project.parent.parent))
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_ends_well_and_shows_the_reminder_the_bank_and_its_place(shown: Shown) -> None:
    done, project = shown
    assert "[MEMORY REMINDER]" in done.stdout
    assert "✗" in done.stdout
    assert "✓" in done.stdout
    assert f"{project}/.pmem/bank.toml" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_the_bank_has_the_failed_and_the_succeeded_attempt(shown: Shown) -> None:
    project = shown[1]
    listed = pmem("bank", "list", "--json", cwd=project, HOME=str(project.parent.parent))
    outcomes = {e["command"]: e for e in json.loads(listed.stdout)["procedural"]}
    assert outcomes["sh test.sh"]["outcome"] == "failed"
    assert outcomes["sh test.sh"]["attempts"] >= 2
    assert outcomes["sh test.sh"]["exit_code"] == 2
    assert outcomes[WAY]["outcome"] == "succeeded"
    assert outcomes[WAY]["attempts"] == 2


def test_the_reminder_is_one_and_comes_from_the_rules_and_the_real_steps(shown: Shown) -> None:
    decisions = lines(shown, "--decisions")
    (reminder,) = [d for d in decisions if d["decision"] == "remind"]
    failed = [s["step"] for s in lines(shown) if s.get("exit_code") and s["action"] == "sh test.sh"]
    assert WAY in reminder["text"]
    for number in failed[:2]:
        assert str(number) in reminder["text"]


def test_the_way_is_taken_after_the_reminder_and_not_before(shown: Shown) -> None:
    steps = lines(shown)
    (reminder,) = [d for d in lines(shown, "--decisions") if d["decision"] == "remind"]
    last = [s for s in steps if s["kind"] == "command"][-1]
    assert (last["action"], last["exit_code"]) == (WAY, 0)
    assert last["step"] >= reminder["before_step"]


def test_what_is_written_lies_in_the_demonstration_and_the_state_directory(shown: Shown) -> None:
    project = shown[1]
    laid = {p.name for p in (PACKAGE / "demo" / "project").iterdir() if p.is_file()}
    assert {p.name for p in project.iterdir()} == laid | {".pmem"}
    home = project.parent.parent
    assert {p.name for p in home.iterdir()} == {".local", project.parent.name}
    assert tomllib.loads((project / ".pmem" / "bank.toml").read_text("utf-8"))["schema"] == 1


def test_without_a_reminder_the_agent_does_not_find_the_way_again(tmp_path: Path) -> None:
    project = tmp_path / "greet"
    shutil.copytree(PACKAGE / "demo" / "project", project)
    done = subprocess.run(
        [sys.executable, "-m", "pmem.demo.agent", "--fast"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PMEM_HOOK": "", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    after = done.stdout.partition("context compacted")[2]
    assert after.count("$ sh test.sh") > 2
    assert WAY not in after


@pytest.mark.parametrize("columns", [80, 200])
def test_on_a_terminal_it_is_coloured_and_fits(tmp_path: Path, columns: int) -> None:
    import pyte

    child = pexpect.spawn(
        sys.executable,
        ["-m", "pmem", "demo", "--fast"],
        cwd=str(tmp_path),
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)},
        dimensions=(200, columns),
        timeout=60,
    )
    data = child.read()
    child.close()
    assert child.exitstatus == 0, data.decode("utf-8", "replace")
    screen = pyte.Screen(columns, 200)
    pyte.ByteStream(screen).feed(data)
    text = "\n".join(line.rstrip() for line in screen.display)
    assert text.count("[MEMORY REMINDER]") == 1
    assert "pmem: rules · " in text
    assert re.search(r"pmem: \d+ steps · 1 reminder · \d+ new entries · ", text)
    assert b"\x1b[1;36m$ " in data
