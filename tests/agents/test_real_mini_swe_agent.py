"""`pmem run mini`, whole: the real mini-swe-agent, the session process, the rules, the bank."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import Bench, Model, Screen
from whole_runs import (
    PMEM,
    SCRIPT,
    attempts,
    bench_of,
    counts,
    left,
    steps,
    told,
    venv_installed,
)

pytestmark = pytest.mark.slow

VERSION = "2.4.6"
ARGS = ("-m", "openai/scripted", "-y", "-t", "build it")
RUN = (*ARGS, "--exit-immediately")
END = {"shell": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo It does not build."}

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]


@pytest.fixture
def mini(outside: Path) -> MakeBench:
    """A mini-swe-agent of its own, talking to this model server, in a project that cannot build."""
    program = venv_installed("mini-swe-agent", VERSION, "mini")

    def bench(model: Model, name: str = "a") -> Bench:
        env = {
            "OPENAI_API_BASE": f"{model.url}/v1",
            "OPENAI_API_KEY": "none",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        return bench_of(outside / name, program, env, program.parent)

    return bench


def trajectory(bench: Bench) -> str:
    """What mini itself kept of its run."""
    (file,) = bench.home.rglob("last_mini_run.traj.json")
    return file.read_text()


def test_the_third_identical_build_is_put_back_once(model: StartModel, mini: MakeBench) -> None:
    played = model([*SCRIPT[:4], {"shell": "make build"}, END])
    bench = mini(played)
    done = bench.run([*PMEM, "run", "mini", *RUN])
    assert done.returncode == 0, done.stderr
    assert "It does not build." in done.stdout
    assert counts(played) == [0, 0, 0, 0, 1, 1]
    (message,) = told(played.requests()[-1])
    assert (message["role"], message["tool_call_id"]) == ("tool", "call_step004a")
    build = attempts(bench)
    assert (build["attempts"], build["exit_code"], build["outcome"]) == (3, 2, "failed")
    assert "db.h: No such file or directory" in build["output"]
    ran = [(s["action"], s["exit_code"]) for s in steps(bench) if s["kind"] == "command"]
    assert ran == [
        *[("make build", 2), ("make build", 2), ("cat Makefile", 0), ("make build", 2)],
        (END["shell"], 0),
    ]


def test_without_holds_a_reminder_is_the_last_message_of_one_request_and_nothing_else_changes(
    model: StartModel, mini: MakeBench
) -> None:
    script = [*SCRIPT[:4], {"shell": "echo on"}, END]
    bare = mini(model(script), "bare")
    without = bare.run([str(bare.program), *RUN])
    played = model(script)
    bench = mini(played, "pmem")
    done = bench.run([*PMEM, "run", "--hold", "never", "mini", *RUN])
    assert (done.returncode, done.stderr) == (without.returncode, without.stderr)
    assert done.stdout == without.stdout.replace("/bare/", "/pmem/")
    assert counts(played) == [0, 0, 0, 0, 1, 0]
    request = played.requests()[4]
    assert told(request) == [request["body"]["messages"][-1]]
    assert told(request)[0]["role"] == "user"
    assert attempts(bench)["attempts"] == 3
    kinds = [json.loads(trajectory(b))["info"]["config"] for b in (bare, bench)]
    for kind in ("agent_type", "model_type", "environment_type"):
        assert kinds[0][kind] == kinds[1][kind]
    assert "MEMORY" not in trajectory(bench)
    assert left(bench) == left(bare)


def test_in_a_terminal_the_reminder_is_seen(
    model: StartModel, mini: MakeBench, screen: Callable[..., Screen]
) -> None:
    played = model([*SCRIPT[:4], END])
    bench = mini(played)
    shown = screen(bench, [*PMEM, "run", "mini", *ARGS])
    shown.wait("Agent wants to finish.", "[MEMORY REMINDER] `make build` failed twice alike")
    shown.keys("Enter")
    shown.wait("EXIT=0")
    assert counts(played)[-1] == 1
    build = attempts(bench)
    assert (build["attempts"], build["exit_code"]) == (2, 2)
