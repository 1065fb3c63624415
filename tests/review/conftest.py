"""A project with one session of sixty steps, and a terminal beside it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from made import story
from screens import Screen

from pmem.store.project import Project, find_project


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Project:
    """A project with a story in it."""
    root = tmp_path / "project"
    root.mkdir()
    found = find_project(root, os.environ)
    story(found)
    return found


@pytest.fixture
def terminal(project: Project, home: Path) -> Iterator[Callable[..., Screen]]:
    """`terminal(columns, rows, "review")`: pmem in a terminal of that size."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    open_ones = []

    def start(columns: int, rows: int, *args: str, **env: str) -> Screen:
        screen = Screen(project.root, {"HOME": str(home), **env}, columns, rows)
        open_ones.append(screen)
        screen.start(*args)
        return screen

    yield start
    for screen in open_ones:
        screen.end()
