"""Which adapter serves a program, and which agents are installed here."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmem.agents import registry


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("typed", "name"),
    [("claude", "claude"), ("/opt/x/claude", "claude"), ("make", "generic"), ("", "generic"),
     ("scripted", "scripted"), ("claude-code-router", "generic")],
)  # fmt: skip
def test_a_program_is_served_by_its_name_and_any_other_by_generic(typed: str, name: str) -> None:
    assert registry.get(typed).name == name


def test_an_empty_home_holds_no_agent(home: Path) -> None:
    found = registry.installed({"HOME": str(home), "PATH": str(home)})
    assert not [path for _, path in found if path.is_relative_to(home)]


def test_an_agent_on_path_comes_before_one_in_its_usual_place(home: Path, tmp_path: Path) -> None:
    program(home / ".claude" / "local" / "claude")
    on_path = program(tmp_path / "bin" / "claude")
    env = {"HOME": str(home), "PATH": str(on_path.parent)}
    assert [(a.name, p) for a, p in registry.installed(env)] == [("claude", on_path)]


@pytest.mark.parametrize(
    "place",
    [".claude/local/claude", ".local/bin/claude", ".npm-global/bin/claude",
     ".nvm/versions/node/v22.3.0/bin/claude"],
)  # fmt: skip
def test_an_agent_is_found_where_its_installers_put_it(home: Path, place: str) -> None:
    path = program(home / place)
    env = {"HOME": str(home), "PATH": str(home / "nothing")}
    assert [p for _, p in registry.installed(env)] == [path]


def test_of_several_node_versions_the_newest_wins(home: Path) -> None:
    for version in ("v9.11.2", "v22.3.0", "v20.20.2"):
        program(home / ".nvm/versions/node" / version / "bin/claude")
    env = {"HOME": str(home), "PATH": ""}
    assert [p.parts[-3] for _, p in registry.installed(env)] == ["v22.3.0"]


def test_an_npm_prefix_of_the_users_own_is_looked_into(home: Path, tmp_path: Path) -> None:
    path = program(tmp_path / "prefix/bin/claude")
    env = {"HOME": str(home), "PATH": "", "NPM_CONFIG_PREFIX": str(tmp_path / "prefix")}
    assert [p for _, p in registry.installed(env)] == [path]


def test_a_program_of_the_same_name_is_not_taken_for_the_agent(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "@github" / "copilot"
    package.mkdir(parents=True)
    (package / "loader.js").write_text("#!/usr/bin/env node\n")
    linked, shim, other = tmp_path / "copilot", tmp_path / "shim", tmp_path / "aws"
    linked.symlink_to(package / "loader.js")
    shim.write_text("#!/bin/sh\nexec node /store/@github/copilot/loader.js\n")
    other.write_bytes(b"\x7fELF @github/copilot")
    assert registry.surely("copilot", linked)
    assert registry.surely("copilot", shim)
    assert not registry.surely("copilot", other)
    assert not registry.surely("copilot", tmp_path / "missing")
    assert registry.surely("claude", other)
