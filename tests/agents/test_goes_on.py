"""The real agents resumed after a run without pmem, and compacted."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_table import AGENTS, QWEN, UNBOUND, Agent
from benches import MakeBench, maker
from real_agents import Bench, Model

from pmem.core.decision import HEADER

pytestmark = pytest.mark.slow

PMEM = (sys.executable, "-m", "pmem")
StartModel = Callable[[Sequence[Any]], Model]
#: How each agent is told to go on with its latest conversation.
GO_ON: Mapping[str, Sequence[str]] = {
    "claude": ("--continue", "-p", "go on", "--allowedTools", "Bash"),
    "gemini": ("--yolo", "-m", "gemini-2.5-pro", "--resume", "latest", "-p", "go on"),
    "qwen": (*QWEN, "--continue", "-p", "go on"),
    "opencode": ("run", "--continue", "go on"),
    "copilot": ("--allow-all-tools", "-s", "--continue", "-p", "go on"),
    "pi": ("--continue", "-p", "go on"),
    "codex": ("exec", "resume", "--last", "--skip-git-repo-check", UNBOUND, "go on"),
}


@pytest.fixture(params=[a for a in AGENTS if a.name in GO_ON], ids=lambda agent: agent.name)
def agent(request: pytest.FixtureRequest) -> Agent:
    """Each agent whose conversations can be gone on with, in turn."""
    chosen: Agent = request.param
    return chosen


@pytest.fixture
def bench(agent: Agent, outside: Path) -> MakeBench:
    """Makes a bench of this agent."""
    return maker(agent.name, outside)


def steps(bench: Bench) -> list[dict[str, Any]]:
    out = bench.run([*PMEM, "log", "--json"]).stdout
    return [json.loads(line) for line in out.splitlines()]


def age(bench: Bench) -> None:
    """Let its chats be begun in another minute: Gemini CLI names a chat by it, and a resumption in
    another one tells first of a new, empty chat.
    """
    for chat in (bench.home / ".gemini" / "tmp").glob("*/chats/session-*.jsonl"):
        chat.rename(chat.with_name(re.sub(r"T\d\d-\d\d", "T00-00", chat.name)))


def counts(played: Model) -> list[int]:
    return [body.count(HEADER) for body in played.bodies()]


def build_entry(bench: Bench) -> dict[str, Any]:
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    (entry,) = [e for e in listed["procedural"] if e.get("command") == "make build"]
    found: dict[str, Any] = entry
    return found


def test_after_steps_without_pmem_the_third_identical_failure_is_caught(
    agent: Agent, bench: MakeBench, model: StartModel
) -> None:
    many = 60 if agent.name in ("claude", "codex") else 4
    script = [
        *({"shell": f"echo {n} > notes.txt"} for n in range(many - 1)),
        *({"shell": "make build"}, {"text": "So far."}),
        *({"shell": "make build"}, {"shell": "cat Makefile"}, {"shell": "make build"}),
        {"text": "It does not build."},
    ]
    played = model(script)
    alone = bench(played)
    alone.run([str(alone.program), *agent.headless])
    age(alone)
    before = len(played.requests())
    done = alone.run([*PMEM, agent.name, *GO_ON[agent.name]])
    assert "It does not build." in done.stdout
    assert counts(played)[before:] == [0, 0, 0, 1]
    told = steps(alone)
    assert [step["step"] for step in told] == list(range(1, len(told) + 1))
    assert [step["action"] for step in told[-3:]] == ["", "make build", "cat Makefile"]
    assert len(told) == 1 + many + 1 + 2
    entry = build_entry(alone)
    assert (entry["attempts"], entry["exit_code"]) == (2, 2)


@pytest.mark.parametrize(
    "agent",
    [a for a in AGENTS if a.name in ("claude", "codex", "gemini", "copilot")],
    ids=lambda agent: agent.name,
)
def test_resumed_under_pmem_again_nothing_counts_twice(
    agent: Agent, bench: MakeBench, model: StartModel
) -> None:
    played = model([{"shell": "make build"}, {"text": "No."}, {"shell": "ls"}, {"text": "No."}])
    remembering = bench(played)
    remembering.run([*PMEM, agent.name, *agent.headless])
    remembering.run([*PMEM, agent.name, *GO_ON[agent.name]])
    assert build_entry(remembering)["attempts"] == 1
    assert [step["step"] for step in steps(remembering)] == [1, 2, 3, 4]


@pytest.fixture
def claude(outside: Path) -> MakeBench:
    """Makes a bench of Claude Code."""
    return maker("claude", outside)


@pytest.fixture
def codex(outside: Path) -> MakeBench:
    """Makes a bench of Codex."""
    return maker("codex", outside)


def assert_one_digest(body: str) -> None:
    """One reminder stands in a request, with the prohibition and the command that still fails."""
    assert body.count(HEADER) == 1
    assert "Never force-push" in body.partition(HEADER)[2]
    assert "`make build`, at step 2" in body.partition(HEADER)[2]


def test_a_compaction_of_claude_code_is_followed_by_one_digest(
    model: StartModel, claude: MakeBench
) -> None:
    script = [{"shell": "make build"}, {"text": "No."}, {"text": "A summary."}, {"text": "Yes."}]
    played = model(script)
    bench = claude(played)
    (bench.project / "CLAUDE.md").write_text("- Never force-push.\n")
    tools = ("--allowedTools", "Bash")
    bench.run([*PMEM, "claude", "-p", "build it", *tools])
    bench.run([*PMEM, "claude", "-c", "-p", "/compact"])
    before = len(played.requests())
    bench.run([*PMEM, "claude", "-c", "-p", "go on", *tools])
    (body,) = played.bodies()[before:]
    assert_one_digest(body)


def test_a_compaction_in_the_middle_of_codexs_turn_is_followed_by_one_digest(
    model: StartModel, codex: MakeBench
) -> None:
    full = ("-c", "model_auto_compact_token_limit=100")  # each reply counts as more
    script = [{"shell": "make build"}, {"text": "A summary."}, {"text": "It does not build."}]
    played = model(script)
    bench = codex(played)
    (bench.project / "AGENTS.md").write_text("- Never force-push.\n")
    run = ("exec", *full, "--skip-git-repo-check", UNBOUND, "build it")
    bench.run([*PMEM, "codex", *run])
    told = steps(bench)
    assert [step["kind"] for step in told[:3]] == ["user", "command", "compaction"]
    first, summary, *later = played.bodies()
    assert HEADER not in first + summary
    assert_one_digest(later[0])


def test_a_compaction_of_pi_is_followed_by_one_digest_in_the_next_request_alone(
    model: StartModel, outside: Path
) -> None:
    script = [{"shell": "make build"}, {"shell": "true"}, {"text": "It does not build."}]
    played = model(script)
    bench = maker("pi", outside)(played)
    (bench.project / "AGENTS.md").write_text("- Never force-push.\n")
    file = bench.home / ".pi" / "agent" / "settings.json"
    full = {"enabled": True, "reserveTokens": 127_950, "keepRecentTokens": 10}  # one reply fills it
    file.write_text(json.dumps({**json.loads(file.read_text()), "compaction": full}))
    bench.run([*PMEM, "pi", "-p", "build it"])
    kinds = [step["kind"] for step in steps(bench)]
    assert kinds[:5] == ["user", "command", "compaction", "command", "compaction"]
    assert counts(played) == [0, 1, 1]  # a compaction before each, a digest for each
    for body in played.bodies()[1:]:
        assert_one_digest(body)
