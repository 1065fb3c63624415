"""install.sh as a person uses it: a clone, an empty HOME, one command; and out again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest

CHECKOUT = Path(__file__).parent.parent
NOT_CLONED = (".git", ".venv", ".pmem", "dist", "build", "__pycache__", ".*_cache", ".hypothesis")
OURS = ("PMEM", "XDG_", "CLAUDE", "ANTHROPIC", "OPENAI", "GEMINI", "CODEX", "PYTEST")

#: A package as small as one can be, for what does not depend on pmem itself.
SMALL = {
    "pyproject.toml": """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
""",
    "backend.py": """
import pathlib, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "pmem-1.0-py3-none-any.whl"
    info = "pmem-1.0.dist-info/"
    with zipfile.ZipFile(pathlib.Path(directory, name), "w") as wheel:
        for file in ("__init__.py", "__main__.py"):
            wheel.write(f"pmem/{file}")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: pmem\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\n"
                                       "Root-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\npmem = pmem:main\\n")
        wheel.writestr(info + "RECORD", "")
    return name
""",
    "pmem/__init__.py": """
import os, sys

def main():
    print("small", os.getcwd(), *sys.argv[1:])
""",
    "pmem/__main__.py": "print('pmem 1.0')\n",
    "shells/pmem.bash": "",
}


def clone(target: Path) -> Path:
    """The checkout as git would bring it: sources, no environment, no caches."""
    shutil.copytree(CHECKOUT, target, ignore=shutil.ignore_patterns(*NOT_CLONED), symlinks=True)
    return target


def small(target: Path) -> Path:
    """install.sh beside the small package."""
    for name, text in SMALL.items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.lstrip())
    shutil.copy(CHECKOUT / "install.sh", target)
    return target


def environment(home: Path | None, **more: str) -> dict[str, str]:
    """What a login shell has, with this HOME, and the machine's own settings of pip."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OURS) and k != "VIRTUAL_ENV"}
    kept.pop("HOME", None)
    kept["PATH"] = os.pathsep.join(
        part for part in kept["PATH"].split(os.pathsep) if not part.startswith(str(CHECKOUT))
    )
    if home is not None:
        kept["HOME"] = str(home)
    return {**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **more}


def install(
    script: Path, *args: str, env: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(script), *args],
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )


def tree(root: Path) -> list[str]:
    """Every file, link and directory below, compiled code apart."""
    return sorted(
        str(p.relative_to(root))
        for p in root.rglob("*")
        if p.suffix != ".pyc" and p.name != "__pycache__"
    )


@dataclass(frozen=True)
class Installed:
    clone: Path
    home: Path
    env: dict[str, str]
    before: list[str]
    words: str

    @property
    def command(self) -> Path:
        return self.home / ".local" / "bin" / "pmem"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The real thing, in a HOME with a space in its path that holds a setting of its owner's."""
    root = tmp_path_factory.mktemp("install")
    home = root / "a home"
    (home / ".config" / "other").mkdir(parents=True)
    (home / ".config" / "other" / "file").write_text("mine\n")
    before = tree(home)
    here = clone(root / "the clone")
    env = environment(home)
    done = install(Path("../the clone/install.sh"), env=env, cwd=home)
    assert done.returncode == 0, done.stderr
    return Installed(here, home, env, before, done.stderr)


@pytest.mark.slow
class TestARealInstallation:
    """In this order, on one installation; the last test takes it away."""

    def test_the_command_is_there_and_says_what_it_is(self, installed: Installed) -> None:
        said = subprocess.check_output(
            [installed.command, "--version"], env=installed.env, text=True
        )
        assert said.startswith("pmem")
        module = [installed.command.resolve().parent / "python", "-m", "pmem", "--version"]
        assert subprocess.check_output(module, env=installed.env, text=True) == said

    def test_home_holds_the_environment_and_the_link_and_nothing_else(
        self, installed: Installed
    ) -> None:
        new = set(tree(installed.home)) - set(installed.before)
        assert {p for p in new if not p.startswith(".local/share/pmem/venv")} == {
            ".local",
            ".local/bin",
            ".local/bin/pmem",
            ".local/share",
            ".local/share/pmem",
            ".local/share/pmem/absent-before",
        }

    def test_the_checkout_is_left_as_it_was(self, installed: Installed) -> None:
        assert tree(installed.clone) == tree(clone(installed.clone.parent / "compare"))

    def test_the_shell_files_are_inside(self, installed: Installed) -> None:
        shells = list(installed.command.resolve().parents[1].rglob("site-packages/pmem/shells/*"))
        assert "pmem.bash" in [p.name for p in shells]

    def test_the_demo_runs_and_its_bank_has_both_attempts(self, installed: Installed) -> None:
        env = {**installed.env, "TMPDIR": str(installed.home.parent / "tmp")}
        Path(env["TMPDIR"]).mkdir()
        child = pexpect.spawn(
            str(installed.command), ["demo"], env=env, dimensions=(40, 100), timeout=120
        )
        screen = child.read().decode()
        child.close()
        assert child.exitstatus == 0, screen
        assert "[MEMORY REMINDER]" in screen
        project = next(Path(env["TMPDIR"]).rglob(".pmem")).parent
        listed = subprocess.check_output(
            [installed.command, "bank", "list", "--json"], cwd=project, env=env, text=True
        )
        outcomes = [entry["outcome"] for entry in json.loads(listed)["procedural"]]
        assert "failed" in outcomes
        assert "succeeded" in outcomes

    def test_run_starts_pmem_in_the_current_directory(self, installed: Installed) -> None:
        done = install(
            installed.clone / "install.sh",
            *("--run", "--", "run", "--", "pwd"),
            env=installed.env,
            cwd=installed.home,
        )
        assert (done.returncode, done.stdout.strip()) == (0, str(installed.home))
        assert "Installing" not in done.stderr

    def test_a_new_version_takes_the_place_of_the_old_one(self, installed: Installed) -> None:
        init = installed.clone / "pmem" / "__init__.py"
        init.write_text(init.read_text().replace('__version__ = "', '__version__ = "99.'))
        done = install(installed.clone / "install.sh", "--run", "--version", env=installed.env)
        assert done.returncode == 0, done.stderr
        assert "99." in done.stdout
        venvs = [p.name for p in (installed.home / ".local/share/pmem").iterdir()]
        assert sorted(venvs) == ["absent-before", "venv"]

    def test_uninstall_leaves_home_as_it_was(self, installed: Installed) -> None:
        done = install(installed.clone / "install.sh", "--uninstall", env=installed.env)
        assert done.returncode == 0, done.stderr
        assert tree(installed.home) == installed.before


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """A small checkout, `src`, beside an empty `home`."""
    small(tmp_path / "src")
    return tmp_path


def test_installing_twice_is_installing_once(sandbox: Path, home: Path) -> None:
    script, env = sandbox / "src" / "install.sh", environment(home)
    assert install(script, env=env).returncode == 0
    first = tree(home)
    assert install(script, env=env).returncode == 0
    assert tree(home) == first
    assert install(script, "--uninstall", env=env).returncode == 0
    assert tree(home) == []


def test_arguments_after_run_reach_pmem_unchanged(sandbox: Path, home: Path) -> None:
    script, env = sandbox / "src" / "install.sh", environment(home)
    done = install(script, "--run", "--", "--yes", "two words", "", env=env, cwd=home)
    assert done.stdout == f"small {home} --yes two words \n"
    assert install(script, "--run", "claude", "-p", env=env, cwd=sandbox).stdout == (
        f"small {sandbox} claude -p\n"
    )


def test_a_link_to_the_script_finds_the_checkout(sandbox: Path, home: Path) -> None:
    (sandbox / "elsewhere").mkdir()
    (sandbox / "elsewhere" / "get").symlink_to("../src/install.sh")
    assert install(Path("elsewhere/get"), env=environment(home), cwd=sandbox).returncode == 0
    assert (home / ".local/bin/pmem").is_symlink()


def test_xdg_directories_are_respected_and_cleared_away(sandbox: Path, home: Path) -> None:
    env = environment(home, XDG_DATA_HOME=str(sandbox / "data/deep"))
    script = sandbox / "src" / "install.sh"
    assert install(script, env=env).returncode == 0
    assert (sandbox / "data/deep/pmem/venv/bin/pmem").exists()
    assert install(script, "--uninstall", env=env).returncode == 0
    assert not (sandbox / "data").exists()
    assert tree(home) == []


def test_the_word_about_path_comes_only_when_it_is_needed(sandbox: Path, home: Path) -> None:
    script, env = sandbox / "src" / "install.sh", environment(home)
    env["SHELL"] = "/usr/bin/zsh"
    said = install(script, env=env).stderr
    assert "~/.local/bin is not on your PATH" in said
    assert "~/.zshrc" in said
    env["PATH"] += os.pathsep + str(home / ".local/bin")
    assert "is not on your PATH" not in install(script, env=env).stderr


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


def with_settings(home: Path) -> list[str]:
    for place in (".config/pmem", ".local/state/pmem/project"):
        (home / place).mkdir(parents=True)
        (home / place / "file").write_text("x")
    return tree(home)


@pytest.mark.parametrize(("option", "stays"), [("--keep", True), ("--yes", False)])
def test_settings_and_sessions_stay_or_go_as_told(
    sandbox: Path, home: Path, option: str, stays: bool
) -> None:
    script, env = sandbox / "src" / "install.sh", environment(home)
    assert install(script, env=env).returncode == 0
    with_settings(home)
    assert install(script, "--uninstall", option, env=env).returncode == 0
    assert (home / ".config/pmem/file").exists() == stays
    assert (home / ".local/state/pmem/project/file").exists() == stays
    assert not (home / ".local/bin").exists()
    assert not (home / ".local/share").exists()


@pytest.mark.parametrize(("reply", "stays"), [("n", True), ("", True), ("y", False)])
def test_a_person_at_a_terminal_is_asked(
    sandbox: Path, home: Path, reply: str, stays: bool
) -> None:
    with_settings(home)
    child = pexpect.spawn(
        "sh",
        [str(sandbox / "src" / "install.sh"), "--uninstall"],
        env=environment(home),
        timeout=30,
    )
    child.expect_exact("[y/N]")
    child.sendline(reply)
    child.read()
    child.close()
    assert child.exitstatus == 0
    assert (home / ".config/pmem").exists() == stays
    assert (home / ".local/state/pmem").exists() == stays


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


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


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
