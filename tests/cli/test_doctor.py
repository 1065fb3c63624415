"""`pmem doctor` finds out by trying, and says what it could not find out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.play_model import FINISHED, PlayModel, answer

Call = Callable[..., Any]


@pytest.fixture
def programs(tmp_path: Path) -> Callable[[str, str], dict[str, str]]:
    """Puts a program of this name on a PATH of its own; gives the environment."""

    def put(name: str, script: str) -> dict[str, str]:
        place = tmp_path / "programs"
        place.mkdir(exist_ok=True)
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)
        return {"PATH": f"{place}:/usr/bin:/bin"}

    return put


def told(said: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said.out)
    return found


def checks(found: dict[str, Any]) -> dict[str, bool | None]:
    return {check["name"]: check["ok"] for check in found["checks"]}


def test_without_an_agent_the_machine_and_the_project_are_looked_at(
    pmem: Call, project: Path, home: Path
) -> None:
    said = pmem("doctor", "--json")
    found = told(said)
    assert said.code == 0
    assert checks(found) == dict.fromkeys(("pmem", "socket", "state", "project"), True)
    assert "real model" in found["not_checked"]
    assert list(project.iterdir()) == [] and list(home.iterdir()) == []


def test_a_program_that_asks_its_model_nothing_is_not_reached(
    pmem: Call, programs: Any, home: Path
) -> None:
    env = programs(
        "claude", 'case $1 in --version) echo "2.0.1 (Claude)";; *) echo oh; exit 7;; esac'
    )
    said = pmem("doctor", "claude", "--json", env=env)
    [found] = told(said)["agents"]
    assert said.code == 1
    assert (found["version"], found["tier"]) == ("2.0.1", "none")
    assert checks(found) == {"version": None, "runs": False}
    assert "ended with 7" in found["checks"][-1]["say"] and "oh" in found["checks"][-1]["say"]
    assert list(home.rglob("doctor-*")) == []


def test_a_program_without_a_version_is_told(pmem: Call, programs: Any) -> None:
    [found] = told(pmem("doctor", "codex", "--json", env=programs("codex", "exit 1")))["agents"]
    assert (found["tier"], checks(found)) == ("none", {"version": False})


def test_the_users_keys_and_home_do_not_reach_the_program(
    pmem: Call, programs: Any, tmp_path: Path, home: Path
) -> None:
    env = programs("claude", f'env >> {tmp_path}/seen; echo "2.1.332"')
    pmem("doctor", "claude", env={**env, "ANTHROPIC_API_KEY": "sk-mine", "PMEM_DIR": "/x"})
    seen = (tmp_path / "seen").read_text()
    assert "sk-mine" not in seen and f"HOME={home}\n" not in seen and "PMEM_DIR" not in seen


def test_errors_of_a_session_and_a_foreign_hook_line_are_told(pmem: Call, project: Path) -> None:
    pmem("attach", "claude")
    assert checks(told(pmem("doctor", "--json")))["attached: claude"] is True
    local = project / ".claude" / "settings.local.json"
    local.write_text(local.read_text().replace("/pmem/hook/", "/old/pmem/hook/"))
    assert checks(told(pmem("doctor", "--json")))["attached: claude"] is False
    state = Path(json.loads(pmem("status", "--json").out)["state"])
    state.mkdir(parents=True, exist_ok=True)
    (state / "errors.log").write_text(time.ctime())
    assert checks(told(pmem("doctor", "--json")))["errors"] is False


def test_what_is_not_known_or_not_there_is_told(pmem: Call) -> None:
    assert pmem("doctor", "no-such-agent").code == 2
    assert "not installed" in pmem("doctor", "codex").err


# -- the model that plays ------------------------------------------------------------------------

ANTHROPIC = {"tools": [{"name": "Bash", "input_schema": {"properties": {"command": {}}}}]}
CHAT = {"tools": [{"function": {"name": "bash", "parameters": {"properties": {"cmd": {}}}}}]}
RESPONSES = {"tools": [{"type": "function", "name": "shell", "parameters": {}}]}
GEMINI = {"tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}]}
RESULT: dict[str, Any] = {
    "/v1/messages": {"messages": [{"content": [{"type": "tool_result"}]}]},
    "/v1/chat/completions": {"messages": [{"role": "tool"}]},
    "/v1/responses": {"input": [{"type": "function_call_output"}]},
    "/v1/models/m:generateContent": {"contents": [{"parts": [{"functionResponse": {}}]}]},
}


@pytest.mark.parametrize(
    "path, tools", list(zip(RESULT, (ANTHROPIC, CHAT, RESPONSES, GEMINI), strict=True))
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_play_goes_on_with_each_result_in_every_form(
    path: str, tools: dict[str, Any], stream: bool
) -> None:
    play = PlayModel(["make it so"])
    with play:
        first, _ = answer(play, path, {**tools, "stream": stream})
        again, _ = answer(play, path, {**tools, "stream": stream})
        last, _ = answer(play, path, {**tools, **RESULT[path], "stream": stream})
        aside, _ = answer(play, path, {"stream": stream})
    assert "make it so" in json.dumps(first) and first == again
    assert FINISHED in json.dumps(last) and FINISHED not in json.dumps(aside)
    assert len(play.asked) == 3


def test_a_memory_that_others_can_look_into_is_told(pmem: Call, project: Path) -> None:
    pmem("bank", "add", "a fact")
    bank = project / ".pmem" / "bank.toml"
    assert "permissions" not in pmem("doctor").out
    bank.chmod(0o644)
    said = pmem("doctor")
    assert f"others may look into {bank} (mode 644); chmod 600 {bank}" in said.out
    assert said.code == 1
