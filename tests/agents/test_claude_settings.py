"""pmem's hooks travel in `--settings`, behind what the user passes and has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.claude_code import ClaudeCode
from pmem.agents.claude_hooks import EVENTS
from pmem.agents.protocol import HookLine, Launch

HOOK = HookLine("client claude || exit 0")
THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "theirs"}]}


def launch(args: Sequence[str], tmp_path: Path, env: dict[str, str] | None = None) -> Launch:
    env = {"HOME": str(tmp_path / "home"), **(env or {})}
    return ClaudeCode().launch("/bin/claude", args, HOOK, tmp_path, env, tmp_path)


def settings(launched: Launch) -> dict[str, Any]:
    argv = list(launched.argv)
    assert argv[:2] == ["/bin/claude", "--settings"]
    assert not any(word.startswith("--settings") for word in argv[2:])
    read: dict[str, Any] = json.loads(argv[2])
    return read


def commands(group: dict[str, Any]) -> list[str]:
    return [hook["command"] for hook in group["hooks"]]


def test_every_event_runs_the_hook_line_and_the_arguments_follow(tmp_path: Path) -> None:
    launched = launch(["-p", "make it build", "--model", "opus"], tmp_path)
    hooks = settings(launched)["hooks"]
    assert {event: groups[0].get("matcher", "") for event, groups in hooks.items()} == EVENTS
    assert all(
        [commands(group) for group in groups] == [[HOOK.command]] for groups in hooks.values()
    )
    assert list(launched.argv[3:]) == ["-p", "make it build", "--model", "opus"]
    assert launched.remark == ""


@pytest.mark.parametrize("form", ["two words", "one word", "file"])
def test_the_users_own_settings_are_kept_and_theirs_run_first(tmp_path: Path, form: str) -> None:
    theirs = json.dumps(
        {"model": "opus", "hooks": {"PreToolUse": [THEIRS], "Notification": [THEIRS]}}
    )
    (tmp_path / "mine.json").write_text(theirs)
    args = {
        "two words": ["-p", "x", "--settings", theirs],
        "one word": [f"--settings={theirs}", "-p", "x"],
        "file": ["-p", "x", "--settings", "mine.json"],
    }[form]
    launched = launch(args, tmp_path)
    merged = settings(launched)
    assert merged["model"] == "opus"
    assert merged["hooks"]["PreToolUse"][0] == THEIRS
    assert commands(merged["hooks"]["PreToolUse"][1]) == [HOOK.command]
    assert merged["hooks"]["Notification"] == [THEIRS]
    assert list(launched.argv[3:]) == ["-p", "x"]


def test_of_two_settings_the_last_counts_as_it_does_for_claude(tmp_path: Path) -> None:
    launched = launch(["--settings", '{"model": "a"}', "--settings", '{"model": "b"}'], tmp_path)
    assert settings(launched)["model"] == "b"


def test_words_behind_two_dashes_are_the_prompt(tmp_path: Path) -> None:
    args = ["-p", "--", "--settings", "--version"]
    assert list(launch(args, tmp_path).argv[3:]) == args


@pytest.mark.parametrize(
    "args",
    [["mcp", "list"], ["update"], ["--version"], ["-v"], ["--help"], ["-p", "--help"],
     ["doctor"], ["plugin", "install", "x"]],
)  # fmt: skip
def test_what_works_on_no_task_passes_untouched(tmp_path: Path, args: list[str]) -> None:
    assert list(launch(args, tmp_path).argv) == ["/bin/claude", *args]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("gone.json", "--settings gone.json cannot be read: No such file"),
        ("bad.json", "--settings bad.json is no valid JSON"),
        ("latin.json", "cannot be read: it is not UTF-8 text"),
        ("list.json", "must be a JSON object"),
        ("{bad}", "the JSON behind --settings is no valid JSON"),
        ('{"hooks": []}', "must map each event to a list"),
        ('{"hooks": {"Stop": {}}}', "must map each event to a list"),
    ],
)
def test_settings_that_cannot_be_merged_are_told_in_a_sentence(
    tmp_path: Path, value: str, sentence: str
) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(ValueError, match=sentence):
        launch(["--settings", value], tmp_path)


def test_a_settings_option_without_a_value_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs a file or a JSON object"):
        launch(["-p", "x", "--settings"], tmp_path)


def test_settings_too_long_for_an_argument_travel_in_a_private_file(tmp_path: Path) -> None:
    long = json.dumps({"companyAnnouncements": ["x" * 150_000]})
    (tmp_path / "long.json").write_text(long)
    argv = list(launch(["--settings", "long.json"], tmp_path).argv)
    assert Path(argv[2]).parent == tmp_path
    assert json.loads(Path(argv[2]).read_text())["companyAnnouncements"] == ["x" * 150_000]


@pytest.mark.parametrize("place", ["home", "config", "project", "local", "option"])
def test_hooks_that_the_user_switched_off_are_told(tmp_path: Path, place: str) -> None:
    off = json.dumps({"disableAllHooks": True})
    file = {
        "home": tmp_path / "home" / ".claude" / "settings.json",
        "config": tmp_path / "config" / "settings.json",
        "project": tmp_path / ".claude" / "settings.json",
        "local": tmp_path / ".claude" / "settings.local.json",
        "option": tmp_path / "mine.json",
    }[place]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(off)
    args = ["--settings", "mine.json"] if place == "option" else []
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")} if place == "config" else {}
    remark = launch(args, tmp_path, env).remark
    assert remark.startswith("Claude Code runs no hooks here (disableAllHooks in ")
    assert ("--settings" if place == "option" else str(file)) in remark


def test_the_strongest_place_decides_whether_hooks_are_off(tmp_path: Path) -> None:
    for file, off in (("settings.json", True), ("settings.local.json", False)):
        path = tmp_path / ".claude" / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"disableAllHooks": off}))
    assert launch([], tmp_path).remark == ""


def test_the_bare_mode_is_told(tmp_path: Path) -> None:
    assert "(--bare)" in launch(["--bare", "-p", "x"], tmp_path).remark
    assert "CLAUDE_CODE_SIMPLE" in launch([], tmp_path, {"CLAUDE_CODE_SIMPLE": "1"}).remark
    assert launch(["-p", "--", "--bare"], tmp_path).remark == ""
