"""What is shipped: everything the program needs, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", CHECKOUT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", CHECKOUT, tmp_path_factory.mktemp("wheel"))


def build(kind: str, source: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "-o", str(target)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(target.iterdir())


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {n for n in archive.namelist() if ".dist-info/" not in n}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def sources() -> set[str]:
    """The files of the package in the checkout, the shells at the place they are shipped to."""
    package = {p.relative_to(CHECKOUT).as_posix() for p in (CHECKOUT / "pmem").rglob("*")}
    shells = {f"pmem/shells/{p.name}" for p in (CHECKOUT / "shells").iterdir()}
    return {
        name
        for name in package | shells
        if not (CHECKOUT / name).is_dir() and "__pycache__" not in name and "/.gitkeep" not in name
    }


@pytest.mark.parametrize("kind", ["sdist", "wheel"])
def test_the_same_source_makes_the_same_bytes(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    first: Path = request.getfixturevalue(kind)
    copy = tmp_path / "elsewhere"
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(CHECKOUT, copy, ignore=ignored)
    for path in (copy, *copy.rglob("*")):  # at another time, by somebody with another umask
        os.utime(path, (1_500_000_000, 1_500_000_000), follow_symlinks=False)
    (tmp_path / "out").mkdir()
    second = build(kind, copy, tmp_path / "out")
    assert second.name == first.name
    assert second.read_bytes() == first.read_bytes()


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    held = {name for name in names(wheel) if not name.endswith("/.gitkeep")}
    assert held == sources()


def test_the_sdist_makes_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = next(p for p in tmp_path.iterdir() if p.name.startswith("pmem-"))
    (tmp_path / "out").mkdir()
    assert names(build("wheel", unpacked, tmp_path / "out")) == names(wheel)


def test_the_sdist_can_be_installed_and_tested(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("install.sh", "README.md", "LICENSE", "tests/conftest.py", "shells/pmem.bash"):
        assert name in held


def test_the_metadata_names_licence_python_and_extras(wheel: Path) -> None:
    data = metadata(wheel)
    assert data["Name"] == "pmem"
    assert data["License-Expression"] == "Apache-2.0"
    assert data["Requires-Python"] == ">=3.11"
    assert {"openai", "dev"} <= set(data.get_all("Provides-Extra", []))
    assert data.get_payload()  # the README


def test_the_wheel_runs_as_a_module_and_finds_its_data(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    where = "import pmem, pathlib; print(pathlib.Path(pmem.__file__).parent)"
    found = subprocess.check_output([sys.executable, "-c", where], env=env, text=True, cwd=tmp_path)
    assert Path(found.strip()) == tmp_path / "site" / "pmem"
    said = subprocess.check_output(
        [sys.executable, "-m", "pmem", "--version"], env=env, text=True, cwd=tmp_path
    )
    assert said.startswith("pmem")
    shell = [sys.executable, "-m", "pmem", "run", "--", "sh", "-c", "exit 7"]
    assert subprocess.run(shell, env=env, cwd=tmp_path).returncode == 7
