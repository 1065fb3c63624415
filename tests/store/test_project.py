"""Where a project's memory lies: found upward like `.git`, never in HOME, never another tool's."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pmem.core.bank import SaveKnowledge
from pmem.store.bank_file import BankFile
from pmem.store.project import ForeignDirectory, Project, ensure, find_project

Git = Callable[..., str]


def find(start: Path, override: str | Path | None = None, **env: str) -> Project:
    return find_project(start, {**os.environ, **env}, override)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def made(root: Path) -> Path:
    project = find(root)
    ensure(project)
    return project.dir


def test_nothing_is_written_by_looking(root: Path) -> None:
    assert find(root).dir == root / ".pmem"
    assert list(root.iterdir()) == []


def test_a_new_project_lies_at_the_git_root(root: Path) -> None:
    (root / ".git").mkdir()
    below = root / "src" / "deep"
    below.mkdir(parents=True)
    assert find(below).root == root


def test_without_git_a_new_project_lies_where_we_are(root: Path) -> None:
    below = root / "src"
    below.mkdir()
    assert find(below).root == below


def test_an_existing_project_is_found_from_below(root: Path) -> None:
    made(root)
    below = root / "src" / "deep"
    below.mkdir(parents=True)
    assert find(below).dir == root / ".pmem"
    assert find(root / ".pmem").dir == root / ".pmem"


def test_the_search_stops_at_the_git_root(root: Path) -> None:
    made(root)
    inner = root / "vendor"
    (inner / ".git").mkdir(parents=True)
    assert find(inner).dir == inner / ".pmem"


def test_the_search_goes_through_symbolic_links_to_the_real_place(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(root)
    assert find(tmp_path / "link") == find(root)


def test_homes_own_directory_is_never_adopted(home: Path) -> None:
    (home / ".pmem").mkdir()
    (home / ".pmem" / "pmem.toml").touch()
    (home / ".git").mkdir()
    below = home / "work"
    below.mkdir()
    assert find(below).dir == below / ".pmem"


@pytest.mark.parametrize("where", ["home", "/"])
def test_home_and_the_root_are_no_projects(home: Path, where: str) -> None:
    project = find(home if where == "home" else Path("/"))
    assert project.read_only
    assert "no project" in project.remark
    with pytest.raises(OSError, match="writes nothing"):
        ensure(project)
    assert not project.dir.exists()


def test_the_directory_is_private_ignored_and_marked_whatever_the_umask(root: Path) -> None:
    old = os.umask(0o777)
    try:
        directory = made(root)
    finally:
        os.umask(old)
    assert mode(directory) == 0o700
    assert {p.name: mode(p) for p in directory.iterdir()} == {
        "pmem.toml": 0o600,
        ".gitignore": 0o600,
    }
    assert (directory / ".gitignore").read_text() == "*\n"
    assert [p.name for p in root.iterdir()] == [".pmem"]


def test_git_does_not_see_the_directory(root: Path, git: Git) -> None:
    git(root, "init", "-q")
    made(root)
    assert git(root, "status", "--porcelain") == ""


def test_making_it_twice_changes_nothing(root: Path) -> None:
    directory = made(root)
    (directory / "pmem.toml").write_text("interval = 3\n")
    (directory / ".gitignore").unlink()
    ensure(find(root))
    assert (directory / "pmem.toml").read_text() == "interval = 3\n"
    assert not (directory / ".gitignore").exists()


def test_a_project_that_is_gone_is_not_made_again(root: Path) -> None:
    project = find(root)
    root.rmdir()
    with pytest.raises(OSError, match="gone"):
        ensure(project)
    assert not root.exists()


# -- places taken by others -------------------------------------------------------------------


def test_another_tools_directory_is_refused_and_untouched(root: Path) -> None:
    (root / ".pmem").mkdir()
    (root / ".pmem" / "data.db").write_text("theirs")
    below = root / "src"
    below.mkdir()
    for start in (root, below):
        with pytest.raises(
            ForeignDirectory, match=r"another tool.*nothing in it was touched.*--dir"
        ):
            find(start)
    assert [p.name for p in (root / ".pmem").iterdir()] == ["data.db"]


def test_an_empty_directory_is_another_tools_as_well(root: Path) -> None:
    (root / ".pmem").mkdir()
    with pytest.raises(ForeignDirectory):
        find(root)


def test_a_directory_that_became_another_tools_meanwhile_is_not_filled(root: Path) -> None:
    project = find(root)
    project.dir.mkdir()
    (project.dir / "data.db").touch()
    with pytest.raises(ForeignDirectory):
        ensure(project)
    assert [p.name for p in project.dir.iterdir()] == ["data.db"]


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_symbolic_link_is_not_followed(root: Path, tmp_path: Path, target: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pmem.toml").touch()
    project = find(root)
    (root / ".pmem").symlink_to(tmp_path / target)
    with pytest.raises(ForeignDirectory, match="symbolic link"):
        find(root)
    with pytest.raises(ForeignDirectory, match="symbolic link"):
        ensure(project)
    assert [p.name for p in elsewhere.iterdir()] == ["pmem.toml"]


def test_a_file_in_its_place_is_refused(root: Path) -> None:
    (root / ".pmem").write_text("x")
    with pytest.raises(ForeignDirectory, match="not a directory"):
        find(root)


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


@as_root
def test_root_makes_the_memory_for_whoever_owns_the_project(root: Path) -> None:
    os.chown(root, 12345, 12345)
    bank_file = BankFile(find(root))
    bank_file.apply([SaveKnowledge("a", "x")])
    assert bank_file.close()
    directory = root / ".pmem"
    owners = {p.name: p.stat().st_uid for p in (directory, *directory.iterdir())}
    assert owners == dict.fromkeys((".pmem", "bank.toml", "pmem.toml", ".gitignore"), 12345)


@as_root
def test_another_users_directory_is_refused_in_the_project_and_passed_over_above(
    short_dir: Path,
) -> None:
    short_dir.chmod(0o755)
    made(short_dir)
    (short_dir / ".pmem").chmod(0o755)
    below = short_dir / "mine"
    below.mkdir()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setuid(12345)
            try:
                find(short_dir, HOME="/", XDG_STATE_HOME="/x")
            except ForeignDirectory as error:
                code = 0 if "another user" in str(error) else 2
            if find(below).dir != below / ".pmem":  # HOME is one that may not even be looked at
                code = 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# -- named by the user --------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_the_memory_can_lie_elsewhere(root: Path, tmp_path: Path, way: str) -> None:
    place = tmp_path / "memories" / "mine"
    project = find(root, place) if way == "flag" else find(root, PMEM_DIR=str(place))
    assert (project.root, project.dir) == (root, place)
    ensure(project)
    assert (place / "pmem.toml").exists()
    assert list(root.iterdir()) == []


def test_the_flag_stands_over_the_variable(root: Path, tmp_path: Path) -> None:
    assert find(root, tmp_path / "a", PMEM_DIR=str(tmp_path / "b")).dir == tmp_path / "a"


def test_a_relative_name_counts_from_where_we_are_and_a_tilde_is_home(
    root: Path, home: Path
) -> None:
    assert find(root, "../other").dir == root.parent / "other"
    assert find(root, "~/other").dir == home / "other"


def test_an_empty_directory_that_the_user_names_is_filled(root: Path, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    ensure(find(root, place))
    assert (place / "pmem.toml").exists()


def test_naming_a_project_means_the_memory_in_it(root: Path, tmp_path: Path) -> None:
    made(root)
    assert find(tmp_path, root).dir == root / ".pmem"


def test_a_named_directory_with_other_things_in_it_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ForeignDirectory):
        find(root, tmp_path)


def test_nothing_is_ever_put_among_gits_own_files(root: Path) -> None:
    (root / ".git").mkdir()
    with pytest.raises(ForeignDirectory, match="git"):
        find(root, ".git/pmem")


# -- worktrees ------------------------------------------------------------------------------------


@pytest.fixture
def repository(root: Path, git: Git) -> Path:
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def test_worktrees_share_the_memory_of_the_main_one(repository: Path, git: Git) -> None:
    beside = repository.parent / "feature"
    inside = repository / ".worktrees" / "fix"
    for place in (beside, inside):
        git(repository, "worktree", "add", "-q", "--detach", str(place))
        (place / "src").mkdir()
        assert find(place / "src") == find(repository)


def test_a_submodule_is_a_project_of_its_own(repository: Path, git: Git, tmp_path: Path) -> None:
    other = tmp_path / "library"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib")
    assert find(repository / "lib").root == repository / "lib"


def test_worktrees_of_a_bare_repository_stay_apart(repository: Path, git: Git) -> None:
    bare = repository.parent / "bare.git"
    git(repository, "clone", "-q", "--bare", str(repository), str(bare))
    place = repository.parent / "tree"
    git(bare, "worktree", "add", "-q", "--detach", str(place))
    assert find(place).root == place


def test_a_git_file_that_points_into_a_strangers_repository_leads_nowhere(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "real"))
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / ".git").write_bytes((tmp_path / "real" / ".git").read_bytes())
    assert find(tmp_path / "real").root == repository
    assert find(forged).root == forged


@pytest.mark.parametrize("content", [b"", b"gitdir: ", b"gitdir: nowhere\n", b"\xff\x00", b"x"])
def test_a_git_file_that_cannot_be_read_is_a_root_all_the_same(root: Path, content: bytes) -> None:
    (root / ".git").write_bytes(content)
    (root / "src").mkdir()
    assert find(root / "src").root == root


# -- the state directory ------------------------------------------------------------------------


def test_logs_lie_in_the_users_state_directory(root: Path, home: Path, tmp_path: Path) -> None:
    project = find(root)
    assert project.state.parent == home / ".local" / "state" / "pmem"
    assert project.state.name.startswith("project-") and len(project.state.name) == 16
    assert find(root, XDG_STATE_HOME=str(tmp_path / "s")).state.parent == tmp_path / "s" / "pmem"
    assert find(root, XDG_STATE_HOME="relative").state == project.state


def test_projects_of_one_name_have_logs_of_their_own(root: Path) -> None:
    places = [root / "a" / "app", root / "b" / "app"]
    for place in places:
        place.mkdir(parents=True)
    assert find(places[0]).state != find(places[1]).state


def test_whoever_shares_a_memory_shares_its_state(root: Path, tmp_path: Path) -> None:
    made(root)
    assert find(tmp_path, root / ".pmem").state == find(root).state


def test_without_a_home_logs_go_to_the_temporary_directory_and_this_is_said(
    root: Path, tmp_path: Path
) -> None:
    project = find(root, HOME=str(tmp_path / "gone"), TMPDIR=str(tmp_path))
    assert project.state.is_relative_to(tmp_path / f"pmem-{os.getuid()}")
    assert "no home directory" in project.remark
    assert mode(tmp_path / f"pmem-{os.getuid()}") == 0o700


def test_a_place_in_the_temporary_directory_that_is_not_ours_is_passed_over(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / f"pmem-{os.getuid()}").symlink_to(tmp_path / "theirs")
    project = find(root, HOME="/nonexistent", TMPDIR=str(tmp_path))
    assert not project.state.is_relative_to(tmp_path / f"pmem-{os.getuid()}")
