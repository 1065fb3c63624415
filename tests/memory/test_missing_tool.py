"""A tool that is not installed here is about to be used again."""

from __future__ import annotations

import pytest
from scene import Scene, silent, spoken


@pytest.mark.parametrize(
    "command, output, again",
    [
        ("netstat -tlnp", "bash: netstat: command not found\n", "netstat -an | grep 80"),
        ("jq . a.json", "sh: 1: jq: not found\n", "cat b.json | jq .name"),
        ("rg x", "zsh: command not found: rg\n", "rg -n y src"),
        ("cargo deny check", "error: no such command: `deny`\n", "cargo deny list"),
        ("jq . a.json", "bash: jq: 명령어를 찾을 수 없음\n", "jq . b.json"),
        ("jq . a.json", "bash: jq: コマンドが見つかりません\n", "jq . b.json"),
        ("jq . a.json", "bash: jq: 未找到命令\n", "jq . b.json"),
    ],
)
def test_it_is_told_with_the_step(command: str, output: str, again: str) -> None:
    scene = Scene().ran("ls", "a\n").ran(command, output, 127)
    said = spoken(scene.proposes(again), scene)
    assert "not found at step 2" in said.text and not said.sure


def missing() -> Scene:
    return Scene().ran("jq . a.json", "bash: jq: command not found\n", 127)


@pytest.mark.parametrize(
    "command",
    ["which jq", "command -v jq", "jq --version || apt-get install -y jq", "grep jq README"],
)
def test_asking_for_it_is_fine(command: str) -> None:
    assert silent(missing().proposes(command))


@pytest.mark.parametrize("cure", ["apt-get install -y jq", "brew install jq", "mise use jq@latest"])
def test_after_an_installation_it_may_be_there(cure: str) -> None:
    assert silent(missing().ran(cure, "Setting up jq\n").proposes("jq . a.json"))


def test_once_it_worked_it_is_there() -> None:
    assert silent(missing().ran("jq . b.json", "{}\n").proposes("jq . a.json"))


def test_what_an_earlier_session_missed_may_be_there_today() -> None:
    scene = Scene(bank=missing().bank, session="20261207-090000-test")
    assert silent(scene.proposes("jq . a.json"))
