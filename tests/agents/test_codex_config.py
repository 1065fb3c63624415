"""pmem's hooks travel in `-c`, behind the user's own, and are trusted alone."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.codex_cli import CodexCli
from pmem.agents.codex_config import EVENTS, SOURCE, inline, trusted_hash
from pmem.agents.protocol import HookLine, Launch

HOOK = HookLine("client codex || exit 0")
THEIRS = '{matcher="*",hooks=[{type="command",command="theirs"}]}'


def launch(args: Sequence[str], tmp_path: Path, env: dict[str, str] | None = None) -> Launch:
    env = {"HOME": str(tmp_path), **(env or {})}
    return CodexCli().launch("/bin/codex", args, HOOK, tmp_path, env, tmp_path)


def split(launched: Launch) -> tuple[dict[str, Any], list[str]]:
    """What the `-c hooks…` in front configure, read as Codex reads them, and the other words."""
    words = list(launched.argv)[1:]
    table: dict[str, Any] = {}
    while words[:1] == ["-c"] and words[1].startswith("hooks."):
        key, _, value = words[1].partition("=")
        table[key.removeprefix("hooks.")] = tomllib.loads(f"v={value}")["v"]
        words = words[2:]
    return table, words


def hooks(launched: Launch) -> dict[str, Any]:
    return split(launched)[0]


def rest(launched: Launch) -> list[str]:
    return split(launched)[1]


def commands(groups: list[dict[str, Any]]) -> list[str]:
    return [hook["command"] for group in groups for hook in group["hooks"]]


def test_every_event_runs_the_hook_line_and_is_trusted(tmp_path: Path) -> None:
    launched = launch(["exec", "-m", "x", "build it"], tmp_path)
    table = hooks(launched)
    state = table.pop("state")
    assert {event: groups[0].get("matcher", "") for event, groups in table.items()} == EVENTS
    assert all(commands(groups) == [HOOK.command] for groups in table.values())
    assert len(state) == len(EVENTS)
    assert f"{SOURCE}:pre_tool_use:0:0" in state
    assert rest(launched) == ["exec", "-m", "x", "build it"]
    assert "by its hash" in launched.remark


def test_the_hash_is_the_one_codex_stores_after_a_review() -> None:
    line = HookLine("python3 /opt/hook.py", 10)
    assert trusted_hash("Interrupt", "", line) == (
        "sha256:78881342a813e1b8e8fda56469187bf26f7a031e0eccaeeec44fb776f3d12811"
    )


@pytest.mark.parametrize(
    "args",
    [
        ["-c", f"hooks.PreToolUse=[{THEIRS}]", "exec", "x"],
        ["exec", "--config", f"hooks.PreToolUse = [{THEIRS}]", "x"],
        [f"--config=hooks.PreToolUse=[{THEIRS}]", "exec", "x"],
        [f"-chooks.PreToolUse=[{THEIRS}]", "exec", "x"],
        ["exec", "x", "-c", f"hooks={{PreToolUse=[{THEIRS}]}}"],
    ],
)
def test_hooks_of_the_users_own_are_kept_and_run_first(tmp_path: Path, args: list[str]) -> None:
    launched = launch(args, tmp_path)
    table = hooks(launched)
    assert commands(table["PreToolUse"]) == ["theirs", HOOK.command]
    assert commands(table["PostToolUse"]) == [HOOK.command]
    assert f"{SOURCE}:pre_tool_use:1:0" in table["state"]
    assert f"{SOURCE}:pre_tool_use:0:0" not in table["state"]
    assert rest(launched) == ["exec", "x"]


def test_trust_that_the_user_passes_is_kept(tmp_path: Path) -> None:
    state = 'hooks.state={"/their/config.toml:stop:0:0"={trusted_hash="sha256:1"}}'
    table = hooks(launch(["-c", state], tmp_path))
    assert table["state"]["/their/config.toml:stop:0:0"] == {"trusted_hash": "sha256:1"}


def test_other_settings_pass_untouched(tmp_path: Path) -> None:
    args = ["-c", "model_provider=x", "-c", "hooksy=1", "exec", "--", "-c", "hooks.Stop=[]"]
    assert rest(launch(args, tmp_path)) == args


@pytest.mark.parametrize(
    "args",
    [["login"], ["mcp", "list"], ["--version"], ["exec", "--help"], ["update"], ["features"]],
)
def test_what_works_on_no_task_passes_untouched(tmp_path: Path, args: list[str]) -> None:
    assert list(launch(args, tmp_path).argv) == ["/bin/codex", *args]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("hooks.Stop=[", "your -c hooks.Stop=… is no valid TOML"),
        ("hooks=3", "your -c hooks=… must be a table"),
        ("hooks.Stop={}", "'hooks.Stop' on your command line must be a list"),
        ("hooks.state=[]", "'hooks.state' on your command line must be a table"),
    ],
)
def test_settings_that_cannot_be_merged_are_told_in_a_sentence(
    tmp_path: Path, setting: str, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        launch(["-c", setting], tmp_path)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--disable", "hooks"], "--disable hooks"),
        (["-c", "features.hooks=false"], "features.hooks=false"),
        (["--remote", "ws://x:1"], "--remote"),
    ],
)
def test_hooks_that_the_user_switched_off_are_told(
    tmp_path: Path, args: list[str], why: str
) -> None:
    remark = launch(args, tmp_path).remark
    assert remark.startswith("Codex runs no hooks here (") and why in remark


def test_hooks_switched_off_in_codexs_own_file_are_told(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "config.toml"
    file.parent.mkdir()
    file.write_text("[features]\nhooks = false\n")
    assert str(file) in launch([], tmp_path, {"CODEX_HOME": str(file.parent)}).remark


@pytest.mark.parametrize(
    "value",
    ['quo"te \\ back', "한국어 \x7f\x01\n", True, 3, 1.5, [], {}, [{"a b": ["x", {"c": False}]}]],
)
def test_a_value_on_one_line_is_read_back_the_same(value: object) -> None:
    text = inline(value)
    assert "\n" not in text
    assert tomllib.loads(f"v={text}")["v"] == value
