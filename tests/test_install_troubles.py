"""install.sh where something is missing, broken or in the way; and `--test`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from clones import CHECKOUT, environment, install, program, small, tree


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """A small checkout, `src`, beside an empty `home`."""
    small(tmp_path / "src")
    return tmp_path


def test_a_command_of_that_name_from_elsewhere_is_left_alone(sandbox: Path, home: Path) -> None:
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/pmem").write_text("#!/bin/sh\n")
    before = tree(home)
    done = install(sandbox / "src" / "install.sh", env=environment(home))
    assert done.returncode == 1
    assert "was not made by this script" in done.stderr
    assert tree(home) == before
    install(sandbox / "src" / "install.sh", "--uninstall", env=environment(home))
    assert tree(home) == before


def broken(sandbox: Path) -> None:
    (sandbox / "src" / "pmem" / "__main__.py").write_text("raise SystemExit('no')\n")


def test_a_failed_installation_leaves_no_trace(sandbox: Path, home: Path) -> None:
    broken(sandbox)
    done = install(sandbox / "src" / "install.sh", env=environment(home))
    assert done.returncode == 1
    assert "does not start" in done.stderr
    assert tree(home) == []


def test_a_failed_upgrade_leaves_the_old_version_running(sandbox: Path, home: Path) -> None:
    script, env = sandbox / "src" / "install.sh", environment(home)
    assert install(script, env=env).returncode == 0
    before = tree(home)
    broken(sandbox)
    assert install(script, env=env).returncode == 1
    assert tree(home) == before
    assert subprocess.run([home / ".local/bin/pmem"], env=env).returncode == 0


def test_what_a_killed_installation_left_is_put_right(sandbox: Path, home: Path) -> None:
    script, env = sandbox / "src" / "install.sh", environment(home)
    assert install(script, env=env).returncode == 0
    before = tree(home)
    base = home / ".local/share/pmem"
    gone = subprocess.Popen(["true"])
    gone.wait()
    (base / "venv").rename(base / f"venv.old.{gone.pid}")
    (base / f"venv.new.{gone.pid}").mkdir()
    assert install(script, env=env).returncode == 0
    assert tree(home) == before


def test_no_home_is_said_in_words(sandbox: Path, tmp_path: Path) -> None:
    script = sandbox / "src" / "install.sh"
    assert "HOME is not set" in install(script, env=environment(None)).stderr
    assert "not an absolute path" in install(script, env=environment(Path("here"))).stderr
    assert "no such directory" in install(script, env=environment(tmp_path / "gone")).stderr


def test_a_home_that_cannot_be_written_is_said_in_words(sandbox: Path, home: Path) -> None:
    (home / ".local").write_text("a file where a directory should be")
    done = install(sandbox / "src" / "install.sh", env=environment(home))
    assert done.returncode == 1
    assert "cannot write to" in done.stderr
    assert "XDG_DATA_HOME=" in done.stderr
    assert tree(home) == [".local"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("exit 3", "no Python 3.11 or newer was found"),
        ("echo 3.12; exit 4", "Python 3.12 is here, but without venv"),
        ("exit 127", "no Python 3.11 or newer was found"),
    ],
)
def test_a_python_that_will_not_do_is_said_with_what_to_install(
    sandbox: Path, home: Path, answer: str, said: str
) -> None:
    python = program(sandbox / "bin" / "python", answer)
    done = install(
        *(sandbox / "src" / "install.sh", "--python", str(python)), env=environment(home)
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert "nstall" in done.stderr.split(said)[1]
    assert tree(home) == []


def test_a_shim_that_fails_is_passed_over(sandbox: Path, home: Path) -> None:
    for name in ("python3.14", "python3.13", "python3.12", "python3.11", "python3"):
        program(sandbox / "shims" / name, "echo 'version not installed' >&2; exit 127")
    env = environment(home)
    real = Path(sys.executable).resolve().parent
    env["PATH"] = os.pathsep.join([str(sandbox / "shims"), str(real), env["PATH"]])
    assert install(sandbox / "src" / "install.sh", env=env).returncode == 0


@pytest.mark.parametrize(
    ("test", "source", "code", "closing"),
    [
        ("assert True", "x = 1\n", 0, "1 passed"),
        ("assert False", "x = 1\n", 1, "1 failed"),
        ("assert True", "x=1\n", 1, "1 passed"),  # not as ruff would format it
    ],
)
def test_test_ends_with_the_closing_line_of_the_tests_and_the_code_of_what_failed(
    sandbox: Path, home: Path, test: str, source: str, code: int, closing: str
) -> None:
    here = sandbox / "src"
    for stray in ("backend.py", "pmem", "shells"):
        target = here / stray
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    (here / "pyproject.toml").write_text('[tool.mypy]\nfiles = ["one.py"]\n')
    (here / "one.py").write_text(source)
    (here / "test_one.py").write_text(f"def test_one():\n    {test}\n")
    # The environment of this very test, whose packages need not be installed again.
    program(
        here / ".venv" / "bin" / "python",
        f'[ "$3" = pip ] && exit\nexec "{sys.executable}" "$@"',
    )
    done = install(here / "install.sh", "--test", "--", "-q", env=environment(home))
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(closing)
    assert tree(home) == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--nonsense"], "unknown argument: --nonsense"),
        (["--yes"], "goes with --uninstall"),
        (["--python"], "needs a path"),
        (["--", "x"], "only --run and --test"),
    ],
)
def test_wrong_usage_is_told_and_changes_nothing(
    sandbox: Path, home: Path, args: list[str], said: str
) -> None:
    done = install(sandbox / "src" / "install.sh", *args, env=environment(home))
    assert done.returncode == 2
    assert said in done.stderr
    assert tree(home) == []


def test_help_names_every_option(sandbox: Path, home: Path) -> None:
    done = install(sandbox / "src" / "install.sh", "--help", env=environment(home))
    for option in ("--run", "--test", "--uninstall", "--yes", "--keep", "--python"):
        assert option in done.stdout


@pytest.fixture
def checker() -> Callable[[str], str]:
    def find(name: str) -> str:
        return shutil.which(name) or pytest.skip(f"{name} is not installed")

    return find


def test_the_script_is_plain_posix_shell(checker: Callable[[str], str]) -> None:
    script = CHECKOUT / "install.sh"
    subprocess.run([checker("dash"), "-n", script], check=True)
    done = subprocess.run(
        [checker("shellcheck"), "--shell=sh", script], capture_output=True, text=True
    )
    assert done.stdout == ""
