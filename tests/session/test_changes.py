"""Whether a project file changed is looked up on disk, and by-products do not count."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pmem.core.moment import Changed
from pmem.session.changes import changed_since


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "deep" / "a.py").write_text("a = 1\n")
    (root / "node_modules").mkdir()
    return root


def a_moment_later() -> float:
    """A time that is after every write so far, on clocks of any grain."""
    time.sleep(0.03)
    now = time.time()
    time.sleep(0.03)
    return now


def test_nothing_written_is_no_change(project: Path) -> None:
    assert changed_since(project, a_moment_later(), limit_seconds=5) is Changed.NO


def test_a_file_edited_deep_inside_is_a_change(project: Path) -> None:
    since = a_moment_later()
    (project / "src" / "deep" / "a.py").write_text("a = 2\n")
    assert changed_since(project, since, limit_seconds=5) is Changed.YES


def test_an_edit_that_keeps_the_old_mtime_is_a_change(project: Path) -> None:
    file = project / "src" / "deep" / "a.py"
    old = file.stat().st_mtime
    since = a_moment_later()
    file.write_text("a = 3\n")
    os.utime(file, (old, old))
    assert changed_since(project, since, limit_seconds=5) is Changed.YES


def test_a_deleted_file_is_a_change(project: Path) -> None:
    since = a_moment_later()
    (project / "src" / "deep" / "a.py").unlink()
    assert changed_since(project, since, limit_seconds=5) is Changed.YES


@pytest.mark.parametrize("name", ["node_modules/x.js", "server.log", "src/a.pyc"])
def test_what_tools_write_by_themselves_is_no_change(project: Path, name: str) -> None:
    (project / name).write_text("1")
    since = a_moment_later()
    (project / name).write_text("2")
    assert changed_since(project, since, limit_seconds=5) is Changed.NO


def test_out_of_time_is_unknown(project: Path) -> None:
    ticks = iter([0.0, 1.0, 2.0, 3.0])
    found = changed_since(project, a_moment_later(), limit_seconds=0.5, clock=lambda: next(ticks))
    assert found is Changed.UNKNOWN


def test_what_the_agent_prints_into_a_file_is_no_change(project: Path) -> None:
    since = a_moment_later()
    out = project / "src" / "a.py"
    out.write_text("what was printed\n")
    place = out.stat()
    but = frozenset({(place.st_dev, place.st_ino)})
    assert changed_since(out.parent, since, but=but, limit_seconds=5) is Changed.NO
    assert changed_since(out.parent, since, limit_seconds=5) is Changed.YES
