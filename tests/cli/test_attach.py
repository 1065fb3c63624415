"""`pmem attach` and `pmem detach`: into an agent's own settings, and out without a trace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.agents.attachment import ATTACHMENTS, attached, detached
from pmem.hook.line import attached_command, is_attached_command

Call = Callable[..., Any]

THEIRS = """{
    "permissions": {"allow": ["Bash(make:*)"]},
    "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [
        {"type": "command", "command": "prettier --write"}]}]}
}"""


@pytest.fixture
def repository(project: Path) -> Path:
    """The project as a git repository with one commit, clean."""
    (project / "README").write_text("hello\n")
    git(project, "init", "-q")
    git(project, "add", "README")
    git(project, "commit", "-q", "-m", "first")
    return project


@pytest.fixture
def local(project: Path) -> Path:
    """Claude Code's private settings in the project."""
    return project / ".claude" / "settings.local.json"


def git(place: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(
        ["git", *who, *words], cwd=place, capture_output=True, text=True, check=True
    ).stdout


def tree(place: Path) -> dict[str, bytes]:
    """Every file below a directory, git's own included."""
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else b"/"
        for path in place.rglob("*")
    }


def our_hooks(file: Path) -> set[str]:
    """The events for which a settings file names pmem."""
    hooks = json.loads(file.read_text("utf-8-sig")).get("hooks", {})
    return {
        event
        for event, groups in hooks.items()
        for group in groups
        for hook in group["hooks"]
        if is_attached_command(hook["command"])
    }


def test_git_status_stays_clean_and_detaching_leaves_every_byte_as_it_was(
    repository: Path, local: Path, pmem: Call
) -> None:
    before = tree(repository)
    assert pmem("attach", "claude").code == 0
    assert {"PreToolUse", "PostToolUse", "UserPromptSubmit"} <= our_hooks(local)
    assert git(repository, "status", "--porcelain", "--untracked-files=all") == ""
    assert pmem("detach", "claude").code == 0
    assert tree(repository) == before


@pytest.mark.parametrize(
    "theirs",
    [THEIRS, THEIRS + "\n", "{}", "{}\n", '\ufeff{"a": 1}', '{"ключ": "키"}', "{\t\n}", ""],
)
def test_settings_of_any_form_come_back_to_the_byte(
    theirs: str, repository: Path, local: Path, pmem: Call
) -> None:
    local.parent.mkdir()
    local.write_bytes(theirs.encode())
    local.chmod(0o640)
    before = tree(repository)
    assert pmem("attach", "claude").code == 0
    now = json.loads(local.read_text("utf-8-sig"))
    if theirs.strip():
        was = json.loads(theirs.removeprefix("\ufeff"))
        assert {k: v for k, v in now.items() if k != "hooks"} == {
            k: v for k, v in was.items() if k != "hooks"
        }
    assert our_hooks(local)
    assert pmem("detach", "claude").code == 0
    assert tree(repository) == before
    assert local.stat().st_mode & 0o777 == 0o640


def test_the_users_own_hooks_stand_in_front(project: Path, local: Path, pmem: Call) -> None:
    local.parent.mkdir()
    local.write_text(THEIRS)
    pmem("attach", "claude")
    first, second = json.loads(local.read_text())["hooks"]["PostToolUse"]
    assert first["hooks"][0]["command"] == "prettier --write"
    assert is_attached_command(second["hooks"][0]["command"])


def test_what_others_wrote_meanwhile_stays_and_only_our_lines_go(
    repository: Path, local: Path, pmem: Call
) -> None:
    local.parent.mkdir()
    local.write_text(THEIRS)
    pmem("attach", "claude")
    settings = json.loads(local.read_text())
    settings["permissions"]["allow"].append("Bash(npm:*)")
    local.write_text(json.dumps(settings, indent=2))
    pmem("detach", "claude")
    expected = json.loads(THEIRS)
    expected["permissions"]["allow"].append("Bash(npm:*)")
    assert local.read_text() == json.dumps(expected, indent=2)


def test_attached_again_after_others_wrote_it_still_comes_out_whole(
    repository: Path, local: Path, pmem: Call
) -> None:
    clean = tree(repository)
    pmem("attach", "claude")
    settings = json.loads(local.read_text())
    local.write_text(json.dumps({"model": "opus", **settings}, indent=2) + "\n")
    assert "already" in pmem("attach", "claude").err
    old = local.read_text().replace("/pmem/hook/", "/elsewhere/pmem/hook/")
    local.write_text(old)
    assert "now" in pmem("attach", "claude").err
    assert "elsewhere" not in local.read_text()
    pmem("detach", "claude")
    assert json.loads(local.read_text()) == {"model": "opus"}
    shutil.rmtree(local.parent)
    assert tree(repository) == clean


@pytest.mark.parametrize(
    "broken", ['{"a": 1', "[]", '{"a": 1, "a": 2}', '{"hooks": []}', "// no\n{}", "\x80"]
)
def test_settings_that_cannot_be_read_are_refused_untouched(
    broken: str, repository: Path, local: Path, pmem: Call
) -> None:
    local.parent.mkdir()
    local.write_bytes(broken.encode("latin-1"))
    before = tree(repository)
    said = pmem("attach", "claude")
    assert said.code == 125 and "nothing was changed" in said.err
    assert "--s" not in said.err  # no option mends a broken file
    assert "Traceback" not in said.err
    assert tree(repository) == before


def test_settings_broken_while_attached_are_told_and_left(
    repository: Path, local: Path, pmem: Call
) -> None:
    pmem("attach", "claude")
    local.write_text("{")
    said = pmem("detach", "claude")
    assert said.code == 125 and "cannot be read" in said.err
    assert local.read_text() == "{"
    assert pmem("detach", "--all").code == 125
    local.write_text("{}")
    assert pmem("detach", "--all").code == 0
    assert git(repository, "status", "--porcelain", "--untracked-files=all") != ""


def test_print_shows_what_would_stand_there_and_writes_nothing(
    repository: Path, local: Path, pmem: Call
) -> None:
    before = tree(repository)
    said = pmem("attach", "claude", "--print")
    assert said.code == 0 and tree(repository) == before
    pmem("attach", "claude")
    assert local.read_text() == said.out


def test_settings_that_git_keeps_are_shared_only_when_asked(
    repository: Path, local: Path, pmem: Call
) -> None:
    local.parent.mkdir()
    local.write_text("{}\n")
    git(repository, "add", "-f", str(local))
    git(repository, "commit", "-q", "-m", "settings")
    said = pmem("attach", "claude")
    assert said.code == 125 and "--shared" in said.err
    assert git(repository, "status", "--porcelain") == ""
    assert pmem("attach", "claude", "--shared").code == 0
    assert our_hooks(repository / ".claude" / "settings.json")
    pmem("detach", "claude")
    assert git(repository, "status", "--porcelain") == ""


def test_from_a_directory_below_it_is_the_same_project(
    repository: Path, local: Path, pmem: Call
) -> None:
    below = repository / "src" / "web"
    below.mkdir(parents=True)
    assert pmem("attach", "claude", cwd=below).code == 0
    assert local.exists()
    assert pmem("detach", "claude", cwd=below).code == 0


def test_a_link_in_the_place_of_the_settings_is_not_written_through(
    project: Path, local: Path, tmp_path: Path, pmem: Call
) -> None:
    outside = tmp_path / "mine.json"
    outside.write_text("{}")
    local.parent.mkdir()
    local.symlink_to(outside)
    assert pmem("attach", "claude").code == 125
    assert outside.read_text() == "{}" and local.is_symlink()


def test_detach_all_finds_every_project_and_passes_over_those_that_are_gone(
    tmp_path: Path, home: Path, pmem: Call
) -> None:
    places = [tmp_path / name for name in ("one", "two", "gone")]
    for place in places:
        place.mkdir()
        pmem("attach", "claude", cwd=place)
    shutil.rmtree(places[2])
    assert pmem("detach", "--all").code == 0
    assert [list(place.iterdir()) for place in places[:2]] == [[], []]
    assert not (home / ".local" / "state" / "pmem" / "attached").exists()
    assert pmem("detach", "--all").code == 0


def test_with_the_state_directory_lost_our_lines_are_still_found(
    project: Path, local: Path, home: Path, pmem: Call
) -> None:
    local.parent.mkdir()
    local.write_text('{\n  "model": "opus"\n}\n')
    pmem("attach", "claude")
    shutil.rmtree(home / ".local")
    assert pmem("detach", "claude").code == 0
    assert local.read_text() == '{\n  "model": "opus"\n}\n'


def test_what_cannot_be_done_is_told(project: Path, home: Path, pmem: Call) -> None:
    assert pmem("detach", "claude").code == 1
    assert pmem("detach").code == 2
    assert pmem("detach", "claude", "--all").code == 2
    assert "claude" in pmem("attach", "no-such-agent").err
    assert pmem("attach", "no-such-agent").code == 2
    assert pmem("attach", "claude", cwd=home).code == 125


def test_hooks_that_are_switched_off_are_told(project: Path, local: Path, pmem: Call) -> None:
    local.parent.mkdir()
    local.write_text('{"disableAllHooks": true}')
    assert "disableAllHooks" in pmem("attach", "claude").err


@pytest.mark.parametrize("gone", ["interpreter", "client"])
def test_a_hook_line_is_harmless_once_pmem_is_gone(gone: str, tmp_path: Path) -> None:
    line = attached_command("claude", str(tmp_path / "python") if gone == "interpreter" else None)
    if gone == "client":
        line = line.replace("/pmem/hook/attached.py", "/gone/pmem/hook/attached.py")
    done = subprocess.run(["/bin/sh", "-c", line], input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(
    st.dictionaries(st.text().filter(lambda key: key != "hooks"), JSON),
    st.dictionaries(st.text(), st.lists(JSON, min_size=1), min_size=1),
    st.sampled_from([None, 2, 4, "\t"]),
)
def test_whatever_the_settings_are_taking_our_lines_out_gives_them_back(
    rest: dict[str, Any], hooks: dict[str, Any], indent: Any
) -> None:
    for theirs in (rest, {**rest, "hooks": hooks}):
        text = json.dumps(theirs, indent=indent, ensure_ascii=False)
        with_ours = attached(text, ATTACHMENTS["claude"], attached_command("claude"))
        without = detached(with_ours)
        assert without is not None
        assert json.loads(without) == theirs
        assert detached(without) is None


def test_settings_at_once_readable_by_their_owner_alone(local: Path, pmem: Call) -> None:
    pmem("attach", "claude")
    assert os.stat(local).st_mode & 0o777 == 0o600  # noqa: PTH116


def test_without_an_agent_those_that_run_are_listed(pmem: Call, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.symlink_to("/bin/sleep")
    agent = subprocess.Popen([program, "60"], cwd=tmp_path)
    try:
        listed = json.loads(pmem("attach", "--json").out)
        (found,) = [one for one in listed if one["pid"] == agent.pid]
        assert (found["agent"], found["cwd"]) == ("claude", str(tmp_path))
        assert str(agent.pid) in pmem("attach").out
    finally:
        agent.kill()
        agent.wait()


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("claude", "{follow}; pmem attach claude; end it, then pmem claude --continue"),
        ("codex", "{follow}; end it, then pmem codex resume --last"),
        ("gemini", "end it, then pmem gemini --resume latest"),
        ("mini", "end it, then pmem mini-swe-agent"),
    ],
)
def test_of_each_it_is_told_how_it_can_be_reached(
    name: str, ways: str, pmem: Call, tmp_path: Path
) -> None:
    program = tmp_path / name
    program.symlink_to("/bin/sleep")
    agent = subprocess.Popen([program, "60"], cwd=tmp_path)
    try:
        listed = json.loads(pmem("attach", "--json").out)
        (found,) = [one for one in listed if one["pid"] == agent.pid]
        assert found["reached"] == ways.format(follow=f"pmem attach --pid {agent.pid}")
        if "{follow}" not in ways:
            said = pmem("attach", "--pid", str(agent.pid))
            assert said.code == 125 and "cannot be followed" in said.err
    finally:
        agent.kill()
        agent.wait()


def test_an_agents_own_servers_are_not_listed(pmem: Call, tmp_path: Path) -> None:
    (tmp_path / "codex").symlink_to("/bin/sh")
    (tmp_path / "app-server").write_text("exec sleep 60\n")
    server = subprocess.Popen([tmp_path / "codex", "app-server"], cwd=tmp_path)
    try:
        listed = json.loads(pmem("attach", "--json").out)
        assert server.pid not in [one["pid"] for one in listed]
    finally:
        server.kill()
        server.wait()


def test_codex_is_not_attached_and_it_is_said_why(pmem: Call) -> None:
    said = pmem("attach", "codex")
    assert said.code == 2 and "all its windows share" in said.err and "pmem run codex" in said.err


def test_a_process_that_is_no_agent_is_not_followed(pmem: Call) -> None:
    said = pmem("attach", "--pid", str(os.getpid()))
    assert said.code == 125 and "no agent" in said.err
    assert pmem("attach", "--print").code == 2
    assert pmem("attach", "claude", "--pid", "1").code == 2
