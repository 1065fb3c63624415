"""A program is found as a shell would find it, or the refusal says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmem.terminal.spawn import CannotStart, find_program


def executable(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_the_first_executable_on_path_is_taken(tmp_path: Path) -> None:
    for name, mode in (("a", 0o644), ("b", 0o755), ("c", 0o755)):
        (tmp_path / name).mkdir()
        executable(tmp_path / name / "tool", mode)
    (tmp_path / "d" / "tool").mkdir(parents=True)
    path = ":".join(str(tmp_path / name) for name in "dabc")
    assert find_program("tool", {"PATH": path}) == str(tmp_path / "b" / "tool")


def test_a_relative_path_is_looked_up_where_the_program_starts_and_stays_as_typed(
    tmp_path: Path,
) -> None:
    executable(tmp_path / "tool")
    assert find_program("./tool", {}, str(tmp_path)) == "./tool"
    assert find_program("tool", {"PATH": "/nowhere:."}, str(tmp_path)) == "./tool"


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("nosuch", 127, "command not found"),
        ("./nosuch", 127, "no such file"),
        ("", 127, "empty"),
        ("./plain", 126, "chmod"),
        ("plain", 126, "not executable"),
        ("./dir", 126, "is a directory"),
    ],
)
def test_a_refusal_has_its_exit_code_and_a_word(
    tmp_path: Path, name: str, code: int, words: str
) -> None:
    executable(tmp_path / "plain", 0o644)
    (tmp_path / "dir").mkdir()
    with pytest.raises(CannotStart, match=words) as refusal:
        find_program(name, {"PATH": str(tmp_path)}, str(tmp_path))
    assert refusal.value.exit_code == code
