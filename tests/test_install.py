"""install.sh as a person uses it: a clone, an empty HOME, one command; and out again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest
from clones import clone, environment, install, small, tree


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
        script, lacking = installed.clone / "install.sh", [installed.command, "proxy"]
        said = subprocess.run(lacking, env=installed.env, capture_output=True, text=True)
        assert f"install it: '{script}' --with proxy\n" in said.stderr
        words = ("--with", "proxy", "--run", "--version")
        done = install(script, *words, env=installed.env)
        assert done.returncode == 0, done.stderr
        assert "99." in done.stdout
        python = installed.command.resolve().parent / "python"
        subprocess.run([python, "-c", "import aiohttp"], check=True, env=installed.env)
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


def test_an_extra_stays_over_upgrades(sandbox: Path, home: Path) -> None:
    script, env = sandbox / "src" / "install.sh", environment(home)
    for words in (("--with", "proxy"), (), ("--with", "openai", "--run")):
        done = install(script, *words, env=env)
        assert done.returncode == 0
        assert "'proxy'" in done.stderr  # pip: there is none in the small package
    kept = home / ".local/share/pmem/venv/pmem-extras"
    assert kept.read_text() == "openai,proxy\n"
    assert "Installing" not in install(script, "--with", "proxy", "--run", env=env).stderr
    for words in (("--with",), ("--with", "all"), ("--uninstall", "--with", "proxy")):
        assert install(script, *words, env=env).returncode == 2


def test_harbor_is_said_to_need_a_newer_python(sandbox: Path, home: Path) -> None:
    words = ("--python", sys.executable, "--with", "harbor")
    done = install(sandbox / "src" / "install.sh", *words, env=environment(home))
    assert done.returncode == 0, done.stderr
    assert ("Harbor needs Python 3.12" in done.stderr) is (sys.version_info < (3, 12))


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
