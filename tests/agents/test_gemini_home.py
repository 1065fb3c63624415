"""Gemini CLI gets a home of links for the session; what it writes ends up in the user's own."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pmem.agents.gemini_cli import GeminiCli
from pmem.agents.gemini_home import EXTENSION, borrow, give_back
from pmem.agents.protocol import HookLine, Launch

HOOK = HookLine("client gemini || exit 0", 10)


@pytest.fixture
def real(home: Path) -> Path:
    """A home with settings, another extension and skills."""
    (home / ".gemini" / "extensions" / "theirs").mkdir(parents=True)
    (home / ".gemini" / "settings.json").write_text('{"ui": {}}')
    (home / ".agents" / "skills").mkdir(parents=True)
    return home


def launch(args: Sequence[str], real: Path, tmp_path: Path, **env: str) -> Launch:
    env = {"HOME": str(real), **env}
    run_dir = tmp_path / "run"
    run_dir.mkdir(exist_ok=True)
    return GeminiCli().launch("/bin/gemini", args, HOOK, run_dir, env, tmp_path)


def test_everything_of_the_users_is_there_and_one_extension_more(
    real: Path, tmp_path: Path
) -> None:
    borrow(real, tmp_path / "made", {"BeforeTool": []})
    made = tmp_path / "made" / ".gemini"
    assert (made / "settings.json").read_text() == '{"ui": {}}'
    assert {p.name for p in (made / "extensions").iterdir()} == {EXTENSION, "theirs"}
    assert (tmp_path / "made" / ".agents" / "skills").is_dir()
    hooks = json.loads((made / "extensions" / EXTENSION / "hooks" / "hooks.json").read_text())
    assert hooks == {"hooks": {"BeforeTool": []}}


def test_what_is_written_goes_home_whether_through_a_link_or_over_it(
    real: Path, tmp_path: Path
) -> None:
    (real / ".gemini" / "projects.json").write_text("old")
    borrow(real, tmp_path / "made", {})
    made = tmp_path / "made" / ".gemini"
    (made / "settings.json").write_text("changed")
    (made / "tmp" / "chat").write_text("talk")
    (made / "new.tmp").write_text("replaced")
    (made / "new.tmp").replace(made / "projects.json")
    (made / "oauth.json").write_text("signed in")
    (made / "extensions" / "installed").mkdir()
    (made / "extensions" / "installed" / "gemini-extension.json").write_text("{}")
    give_back(real, tmp_path / "made")
    told = {name: (real / ".gemini" / name).read_text() for name in
            ("settings.json", "tmp/chat", "projects.json", "oauth.json",
             "extensions/installed/gemini-extension.json")}  # fmt: skip
    assert list(told.values()) == ["changed", "talk", "replaced", "signed in", "{}"]
    assert not (real / ".gemini" / "extensions" / EXTENSION).exists()


def test_what_another_session_wrote_later_is_kept(real: Path, tmp_path: Path) -> None:
    borrow(real, tmp_path / "made", {})
    ours = tmp_path / "made" / ".gemini" / "state.json"
    ours.write_text("ours")
    os.utime(ours, (1000, 1000))
    (real / ".gemini" / "state.json").write_text("theirs")
    give_back(real, tmp_path / "made")
    assert (real / ".gemini" / "state.json").read_text() == "theirs"


def test_an_empty_home_will_do(home: Path, tmp_path: Path) -> None:
    borrow(home, tmp_path / "made", {})
    (tmp_path / "made" / ".gemini" / "settings.json").write_text("first")
    give_back(home, tmp_path / "made")
    assert (home / ".gemini" / "settings.json").read_text() == "first"


def test_a_launch_says_where_the_home_is_and_what_is_to_be_done_after(
    real: Path, tmp_path: Path
) -> None:
    launched = launch(["-p", "x"], real, tmp_path)
    assert list(launched.argv) == ["/bin/gemini", "-p", "x"]
    place = Path(launched.env["GEMINI_CLI_HOME"])
    assert place == tmp_path / "run" / "home"
    file = place / ".gemini" / "extensions" / EXTENSION / "hooks" / "hooks.json"
    hooks = json.loads(file.read_text())["hooks"]
    assert hooks["BeforeTool"][0]["matcher"] == "*"
    assert hooks["BeforeTool"][0]["hooks"][0]["command"] == HOOK.command
    assert hooks["BeforeTool"][0]["hooks"][0]["timeout"] == 10_000
    (place / ".gemini" / "new").write_text("x")
    assert launched.after is not None
    launched.after()
    assert (real / ".gemini" / "new").exists()


def test_a_list_of_extensions_gets_one_more(real: Path, tmp_path: Path) -> None:
    argv = list(launch(["-e", "theirs", "-p", "x"], real, tmp_path).argv)
    assert argv == ["/bin/gemini", "-e", EXTENSION, "-e", "theirs", "-p", "x"]


@pytest.mark.parametrize(
    "args", [["mcp", "list"], ["extensions", "list"], ["--version"], ["--list-sessions"]]
)
def test_what_works_on_no_task_passes_untouched(
    real: Path, tmp_path: Path, args: list[str]
) -> None:
    launched = launch(args, real, tmp_path)
    assert (list(launched.argv), launched.env) == (["/bin/gemini", *args], {})


@pytest.mark.parametrize(
    ("args", "env", "why"),
    [
        (["--sandbox"], {}, "sandbox"),
        ([], {"GEMINI_SANDBOX": "docker"}, "sandbox"),
        (["-e", "none"], {}, "--extensions none"),
    ],
)
def test_hooks_that_cannot_run_are_told(
    real: Path, tmp_path: Path, args: list[str], env: dict[str, str], why: str
) -> None:
    launched = launch(args, real, tmp_path, **env)
    assert why in launched.remark
    assert (list(launched.argv), launched.env) == (["/bin/gemini", *args], {})


def test_hooks_that_the_user_switched_off_are_told(real: Path, tmp_path: Path) -> None:
    off = real / ".gemini" / "settings.json"
    off.write_text('{"hooksConfig": {"enabled": false}}')
    assert f"hooksConfig.enabled in {off}" in launch([], real, tmp_path).remark


def test_in_the_home_directory_itself_it_is_left_alone(real: Path, tmp_path: Path) -> None:
    launched = GeminiCli().launch("/bin/gemini", [], HOOK, tmp_path, {"HOME": str(real)}, real)
    assert "home directory" in launched.remark and launched.env == {}
