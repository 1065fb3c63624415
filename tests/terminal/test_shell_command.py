"""A shell is found, told of pmem's files, and leaves no trace of the nonce."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pmem.terminal.shell import find_shell, shell_command, shell_kind, shells_dir
from pmem.terminal.spawn import CannotStart

PATH = {"PATH": "/usr/bin:/bin"}


def test_the_name_wins_then_the_variable_then_the_account() -> None:
    assert find_shell("sh", PATH).endswith("/sh")
    assert find_shell("/bin/sh", {**PATH, "SHELL": "/bin/bash"}) == "/bin/sh"
    assert find_shell(None, {**PATH, "SHELL": "/bin/bash"}) == "/bin/bash"
    assert find_shell(None, PATH)
    assert find_shell(None, {**PATH, "SHELL": "/no/such/shell"})


def test_a_missing_shell_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="nosuch: command not found") as refusal:
        shell_command("nosuch", PATH, tmp_path, "0" * 16)
    assert refusal.value.exit_code == 127


def test_other_shells_start_as_they_are(tmp_path: Path) -> None:
    argv, env = shell_command("/bin/sh", PATH, tmp_path, "0" * 16)
    assert (argv, env) == (["/bin/sh"], {})
    assert list(tmp_path.glob("*.*")) == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/bin/bash", "bash"), ("/opt/zsh", "zsh"), ("fish", "fish"), ("/bin/sh", ""), ("-sh", "")],
)
def test_a_shell_is_known_by_its_name(path: str, kind: str) -> None:
    assert shell_kind(path) == kind


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_what_is_written_only_the_user_can_read_and_nothing_is_in_the_environment(
    tmp_path: Path, name: str
) -> None:
    nonce = "0123456789abcdef"
    argv, env = shell_command(name, PATH, tmp_path, nonce)
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) == 1
    assert nonce in files[0].read_text()
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    assert nonce not in str(argv) + str(env)


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_directories_with_odd_names_are_no_trouble(tmp_path: Path, name: str) -> None:
    odd = tmp_path / 'it\'s a "dir" $HOME `x` 한글'
    odd.mkdir()
    shell_command(name, PATH, odd, "0" * 16)
    text = next(p for p in odd.rglob("*") if p.is_file()).read_text()
    assert "한글" in text


def test_the_shell_files_are_found() -> None:
    assert {p.name for p in shells_dir().glob("pmem.*")} >= {"pmem.bash", "pmem.zsh", "pmem.fish"}
