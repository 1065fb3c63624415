"""The real Claude Code resumed after a run without pmem, and compacted."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from real_agents import Bench, Model

from pmem.core.decision import HEADER

pytestmark = pytest.mark.slow

PMEM = (sys.executable, "-m", "pmem")
TOOLS = ("--allowedTools", "Bash")

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]


def steps(bench: Bench) -> list[dict[str, Any]]:
    out = bench.run([*PMEM, "log", "--json"]).stdout
    return [json.loads(line) for line in out.splitlines()]


def counts(played: Model) -> list[int]:
    return [body.count(HEADER) for body in played.bodies()]


def test_after_sixty_steps_without_pmem_the_third_identical_failure_is_caught(
    model: StartModel, claude: MakeBench
) -> None:
    script = [
        *({"shell": f"echo {n} > notes.txt"} for n in range(59)),
        *({"shell": "make build"}, {"text": "So far."}),
        *({"shell": "make build"}, {"shell": "cat Makefile"}, {"shell": "make build"}),
        {"text": "It does not build."},
    ]
    played = model(script)
    bench = claude(played)
    bench.run([str(bench.program), "-p", "build it", *TOOLS])
    before = len(played.requests())
    done = bench.run([*PMEM, "claude", "--continue", "-p", "go on", *TOOLS])
    assert done.stdout.startswith("It does not build.")
    assert counts(played)[before:] == [0, 0, 0, 1]
    told = steps(bench)
    assert [step["step"] for step in told] == list(range(1, len(told) + 1))
    assert [step["action"] for step in told[-3:]] == ["", "make build", "cat Makefile"]
    assert len(told) == 1 + 60 + 1 + 2
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    (build,) = [e for e in listed["procedural"] if e["command"] == "make build"]
    assert (build["attempts"], build["exit_code"]) == (2, 2)


def test_resumed_under_pmem_again_nothing_counts_twice(
    model: StartModel, claude: MakeBench
) -> None:
    played = model([{"shell": "make build"}, {"text": "No."}, {"shell": "ls"}, {"text": "No."}])
    bench = claude(played)
    bench.run([*PMEM, "claude", "-p", "build it", *TOOLS])
    bench.run([*PMEM, "claude", "-c", "-p", "go on", *TOOLS])
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    (build,) = [e for e in listed["procedural"] if e["command"] == "make build"]
    assert build["attempts"] == 1
    assert [step["step"] for step in steps(bench)] == [1, 2, 3, 4]


def test_a_compaction_is_followed_by_one_digest(model: StartModel, claude: MakeBench) -> None:
    script = [{"shell": "make build"}, {"text": "No."}, {"text": "A summary."}, {"text": "Yes."}]
    played = model(script)
    bench = claude(played)
    (bench.project / "CLAUDE.md").write_text("- Never force-push.\n")
    bench.run([*PMEM, "claude", "-p", "build it", *TOOLS])
    bench.run([*PMEM, "claude", "-c", "-p", "/compact"])
    before = len(played.requests())
    bench.run([*PMEM, "claude", "-c", "-p", "go on", *TOOLS])
    (body,) = played.bodies()[before:]
    assert body.count(HEADER) == 1
    assert "Never force-push" in body.partition(HEADER)[2]
    assert "`make build`, at step 2" in body.partition(HEADER)[2]
