"""What an agent writes into pmem.toml while pmem watches is not used until the user trusts it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pmem.core.event import Event, Observed, Proposed
from pmem.core.step import Action, Step
from pmem.session.assemble import assemble
from pmem.session.outside import Channel
from pmem.session.process import SessionConfig
from pmem.store import trust
from pmem.store.project import Project, ensure, find_project
from pmem.store.settings import load_settings
from pmem.store.settings_file import set_project_value

HOOK = Channel("hook:claude", can_hold=True)
EVIL = 'model = "command:/tmp/evil"\n'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    project = find_project(root, os.environ)
    ensure(project)
    return project


@pytest.fixture
def tell(project: Project) -> Callable[[Event], object]:
    config = SessionConfig(project, load_settings(project, os.environ, {}), "claude")
    session, _, _ = assemble(config, os.environ)
    return lambda event: session.handle(event, HOOK)


def wants(command: str) -> Proposed:
    return Proposed(Action("command", command))


def ran(command: str) -> Observed:
    return Observed(Step(0, "command", command, "", exit_code=0))


def model(project: Project) -> str:
    return load_settings(project, os.environ, {}).model


def test_what_changed_under_an_agents_step_is_not_used_until_trusted(
    project: Project, tell: Callable[[Event], object]
) -> None:
    tell(wants("sh x.sh"))
    project.settings.write_text(EVIL)
    tell(ran("sh x.sh"))
    assert model(project) == ""
    project.settings.write_text(EVIL + "# and later on\n")
    assert model(project) == ""
    assert trust.is_ours(project)  # the bank is what it was
    trust.trust(project)
    assert model(project) == "command:/tmp/evil"


def test_what_a_person_writes_between_steps_is_used_at_once(
    project: Project, tell: Callable[[Event], object]
) -> None:
    tell(wants("ls"))
    tell(ran("ls"))
    project.settings.write_text(EVIL)
    tell(wants("make"))
    tell(ran("make"))
    assert model(project) == "command:/tmp/evil"


def test_nor_what_it_sets_through_pmem_itself(
    project: Project, tell: Callable[[Event], object]
) -> None:
    tell(wants("pmem config model command:/tmp/evil"))
    set_project_value(project, "model", "command:/tmp/evil", by_user=False)
    tell(ran("pmem config model command:/tmp/evil"))
    assert model(project) == ""


def test_what_the_user_sets_meanwhile_is_used(
    project: Project, tell: Callable[[Event], object]
) -> None:
    tell(wants("sleep 9"))
    set_project_value(project, "model", "command:/usr/bin/mine")
    tell(ran("sleep 9"))
    assert model(project) == "command:/usr/bin/mine"
