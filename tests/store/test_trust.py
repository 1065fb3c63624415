"""A pmem.toml may name commands and endpoints if it was made here, or the user said so."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pmem.store.project import Project, ensure, find_project
from pmem.store.trust import distrust, is_trusted, trust

Git = Callable[..., str]


def trusted(project: Project) -> bool:
    return is_trusted(project, project.settings.read_bytes())


def somebody_elses(project: Project, text: str = 'model = "command:/bin/evil"\n') -> None:
    project.dir.mkdir(exist_ok=True)
    project.settings.write_text(text)


def test_one_that_came_with_a_repository_is_not_trusted(project: Project) -> None:
    somebody_elses(project)
    assert not trusted(project)


def test_one_made_here_is_trusted_whatever_the_user_writes_into_it(project: Project) -> None:
    ensure(project)
    assert trusted(project)
    project.settings.write_text('model = "command:mine"\n')
    assert trusted(project)


def test_trust_holds_for_this_content_only(project: Project) -> None:
    somebody_elses(project)
    trust(project)
    assert trusted(project)
    project.settings.write_text('model = "command:other"\n')
    assert not trusted(project)


def test_trust_holds_at_this_place_only(project: Project, tmp_path: Path) -> None:
    somebody_elses(project)
    trust(project)
    (tmp_path / "copy").mkdir()
    copy = find_project(tmp_path / "copy", os.environ)
    somebody_elses(copy)
    assert not trusted(copy)


def test_trust_can_be_taken_back(project: Project) -> None:
    ensure(project)
    trust(project)
    distrust(project)
    assert not trusted(project)


def test_a_directory_that_was_replaced_is_not_the_one_made_here(project: Project) -> None:
    ensure(project)
    project.dir.rename(project.root / "old")
    somebody_elses(project)
    assert not trusted(project)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_one_that_git_brings_is_not_trusted_even_where_we_made_the_directory(
    project: Project, git: Git, version: str
) -> None:
    git(project.root, "init", "-q")
    git(project.root, "config", "index.version", version)
    ensure(project)
    for name in (".pmem/archive.jsonl", ".pmem/pmem.tomk", "a", "z/z"):
        path = project.root / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        git(project.root, "add", "-f", name)
    if version == "3":  # an entry with flags of version 3: to be added, not yet added
        (project.root / "later").touch()
        git(project.root, "add", "-N", "later")
    assert trusted(project)
    git(project.root, "add", "-f", ".pmem/pmem.toml")
    assert not trusted(project)
    trust(project)
    assert trusted(project)


def test_an_index_that_cannot_be_understood_counts_as_one_that_has_the_file(
    project: Project, git: Git
) -> None:
    git(project.root, "init", "-q")
    ensure(project)
    assert trusted(project)
    (project.root / ".git" / "index").write_bytes(b"DIRC\0\0\0\x09" + b"x" * 100)
    assert not trusted(project)
