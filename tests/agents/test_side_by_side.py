"""Calls side by side and a subagent, under pmem, whole: each step once, in its own trajectory."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from agent_table import UNBOUND
from benches import maker
from real_agents import Bench, Model

pytestmark = pytest.mark.slow

PMEM = (sys.executable, "-m", "pmem")
PARALLEL = ["echo one", "make build", "echo three"]
StartModel = Callable[[Sequence[Any]], Model]


def both_here(lines: int) -> str:
    """A command that ends when agent and subagent have come so far."""
    looks = f"for n in $(seq 300); do [ $(wc -l < ../ran) -ge {lines} ] && break; sleep 0.1; done"
    return f"echo x >> ../ran; {looks}"


def steps(bench: Bench) -> list[dict[str, Any]]:
    out = bench.run([*PMEM, "log", "--json"]).stdout
    return [json.loads(line) for line in out.splitlines()]


def lanes(told: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The steps of the agent, and those of each subagent."""
    assert [step["step"] for step in told] == list(range(1, len(told) + 1))
    found: dict[str | None, list[dict[str, Any]]] = {None: []}
    for step in told:
        found.setdefault(step.get("agent_id"), []).append(step)
    return list(found.values())


def attempts(bench: Bench, command: str) -> int:
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    return int(next(e for e in listed["procedural"] if e.get("command") == command)["attempts"])


def test_each_subagent_of_claude_codes_has_a_trajectory_of_its_own(
    model: StartModel, outside: Path
) -> None:
    task = {"description": "look", "prompt": "look around", "subagent_type": "general-purpose"}
    script = [{"shells": PARALLEL}, {"tool": "Agent", "args": task}, {"text": "Done."}]
    bench = maker("claude", outside)(model(script))
    bench.run([*PMEM, "claude", "-p", "build it", "--allowedTools", "Bash"])
    every = lanes(steps(bench))
    assert len(every) > 1  # a subagent plays from the start, and asks for one of its own
    for lane in every:
        commands = [step["action"] for step in lane if step["kind"] == "command"]
        assert sorted(commands) == sorted(PARALLEL)
    assert [step["tool"] for step in every[0] if step["kind"] == "tool"] == ["Agent"]
    assert attempts(bench, "make build") == len(every)


@pytest.fixture
def namespaced(fakellm: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex's own tools are asked for by the name of their group too."""
    plain = fakellm.Responses.reply

    def grouped(found: Any) -> Any:
        if isinstance(found, list | tuple):
            return [grouped(one) for one in found]
        if not isinstance(found, dict):
            return found
        named = {key: grouped(value) for key, value in found.items()}
        if named.get("type") == "function_call" and named.get("name") == "spawn_agent":
            named["namespace"] = "collaboration"
        return named

    def reply(*args: Any) -> Any:
        return tuple(grouped(list(plain(*args))))

    monkeypatch.setattr(fakellm.Responses, "reply", reply)


@pytest.mark.usefixtures("namespaced")
def test_codexs_subagent_has_a_trajectory_of_its_own(model: StartModel, outside: Path) -> None:
    task = {"task_name": "look", "message": "look around"}
    # A subagent takes over what was said before, and plays on from there.
    script = [
        *({"shells": PARALLEL}, {"tool": "spawn_agent", "args": task}),
        *({"shell": both_here(2)}, {"shell": both_here(4)}, {"text": "Done."}),
    ]
    bench = maker("codex", outside)(model(script))
    run = ("exec", "--skip-git-repo-check", UNBOUND, "build it")
    bench.run([*PMEM, "codex", *run])
    own, subagents = lanes(steps(bench))
    assert Counter(step["action"] for step in own if step["kind"] == "command") == Counter(
        [*PARALLEL, both_here(2), both_here(4)]
    )
    assert [step["tool"] for step in own if step["kind"] == "tool"] == ["collaborationspawn_agent"]
    done = [step["action"] for step in subagents]
    assert done in ([both_here(2)], [both_here(2), both_here(4)])
    assert attempts(bench, "make build") == 1
