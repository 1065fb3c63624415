"""A project directory of its own for every test of the store."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pmem.store.project import Project, find_project

Git = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty directory with a longer life than HOME, which lies beside it."""
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def project(root: Path) -> Project:
    """The project of that directory; nothing of it exists yet."""
    return find_project(root, os.environ)


@pytest.fixture
def git() -> Git:
    """The real git, without anybody's configuration: `git(directory, "init")`."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def run(directory: Path, *args: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *args], cwd=directory, check=True, capture_output=True, text=True
        )
        return done.stdout

    return run
