"""Memory is asked before a conversation is summed up, and a plug-in waits for a slow answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_table import AGENTS, Agent
from benches import maker
from real_agents import Bench, Model
from whole_runs import PMEM, steps

pytestmark = pytest.mark.slow

FACT = "db.h belongs to libdb-dev (step 2)."
KEEP = {"name": "memory_save_knowledge", "arguments": {"id": "libdb", "content": FACT}}
#: The model of memory answers one question only, the one before a compaction.
PLAY = {"replies": [{"contains": "about to be replaced by a summary", "calls": [KEEP]}]}
SCRIPT = [{"shell": "make build"}, {"shell": "true"}, {"text": "It does not build."}]


def pi(bench: Bench) -> list[str]:
    file = bench.home / ".pi" / "agent" / "settings.json"
    full = {"enabled": True, "reserveTokens": 127_950, "keepRecentTokens": 10}  # one reply fills it
    file.write_text(json.dumps({**json.loads(file.read_text()), "compaction": full}))
    return ["pi", "-p", "build it"]


def opencode(bench: Bench) -> list[str]:
    file = bench.home / ".config" / "opencode" / "opencode.json"
    config = json.loads(file.read_text())
    # it would go on by itself after each summary, and each of its replies fills it
    plugin = bench.home / "own.mjs"
    ends = "async (_, found) => void (found.enabled = false)"
    plugin.write_text(
        f'export const Own = async () => ({{ "experimental.compaction.autocontinue": {ends} }})\n'
    )
    config["plugin"] = [plugin.as_uri()]
    full = {"context": 600, "output": 500}
    config["provider"]["scripted"]["models"]["scripted"]["limit"] = full
    file.write_text(json.dumps(config))
    return ["opencode", "run", "build it"]


def qwen(bench: Bench) -> list[str]:
    words = ["qwen", "--auth-type", "openai", "--approval-mode", "yolo"]
    bench.run([*PMEM, *words, "-p", "build it"])
    return [*words, "--continue", "-p", "/compress"]


@pytest.mark.parametrize(
    ("agent", "script"),
    [(pi, SCRIPT), (opencode, SCRIPT[-1:]), (qwen, SCRIPT)],
    ids=("pi", "opencode", "qwen"),
)
def test_phase_1_runs_before_the_summary(
    agent: Callable[[Bench], list[str]],
    script: Sequence[Any],
    model: Callable[[Sequence[Any]], Model],
    outside: Path,
) -> None:
    played = model(script)
    bench = maker(agent.__name__, outside)(played)
    (bench.home / "play.json").write_text(json.dumps(PLAY))
    env = {"PMEM_MODEL": f"scripted:{bench.home}/play.json"}
    bench.run([*PMEM, "--yes", "--mode", "sync", *agent(bench)], env)
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    assert [e["content"] for e in listed["knowledge"] if e["id"] == "libdb"] == [FACT]
    log = bench.run([*PMEM, "log", "--decisions", "--json"]).stdout.splitlines()
    told = [d for d in map(json.loads, log) if d["trigger"] == "compaction"]
    asked = [d["asked_at"] for d in told if "asked_at" in d]
    summed_up = [step["step"] for step in steps(bench) if step["kind"] == "compaction"]
    assert asked and asked[: len(summed_up)] == [step - 1 for step in summed_up]
    # Qwen Code finds that a summary of so short a conversation would save nothing
    assert bool(summed_up) == (agent is not qwen)


#: A slow model of memory: longer than a plug-in waits by itself.
SAYS = {
    "phase": "decide",
    "contains": "db.h: No such file",
    "text": f'<context_for_action entries="libdb">{FACT} So make build fails.</context_for_action>',
    "seconds": 2,
}
SLOW = {"replies": [{"phase": "manage", "contains": "db.h: No such file", "calls": [KEEP]}, SAYS]}


@pytest.mark.parametrize(
    "agent", [a for a in AGENTS if a.name in ("opencode", "pi")], ids=lambda a: str(a.name)
)
def test_in_sync_mode_a_plug_in_waits_for_the_model(
    agent: Agent, model: Callable[[Sequence[Any]], Model], outside: Path
) -> None:
    played = model(agent.play({"shell": "make build"}, {"shell": "ls"}))
    bench = maker(agent.name, outside)(played)
    (bench.home / "play.json").write_text(json.dumps(SLOW))
    model_named = {"PMEM_MODEL": f"scripted:{bench.home}/play.json", "PMEM_ARM": "selective"}
    env = {**model_named, "PMEM_PATIENCE": "0"}
    bench.run([*PMEM, "--yes", "--mode", "sync", agent.name, *agent.headless], env)
    assert [FACT in body for body in played.bodies()][:2] == [False, True]
