"""The real Codex CLI: what its hooks tell, and where an answer reaches its model and its user.

A bare socket stands for the session here, so that every answer is the test's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import HELD, TOLD, Bench, Ear, Model, Screen, after, nth

from pmem.agents.codex_cli import CodexCli
from pmem.agents.protocol import HookLine
from pmem.core.decision import HEADER
from pmem.core.event import (
    SILENT,
    Answer,
    Compacting,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.hook.line import hook_command

pytestmark = pytest.mark.slow

StartModel = Callable[[Sequence[Any]], Model]
MakeBench = Callable[..., Bench]
OpenEar = Callable[..., Ear]
EXEC = ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


def start(bench: Bench, run_dir: Path, *args: str) -> Sequence[str]:
    """The command line that the adapter makes of these arguments."""
    line = HookLine(hook_command("codex", seconds=8))  # on a busy machine too
    program = str(bench.program)
    return CodexCli().launch(program, args, line, run_dir, bench.env, bench.project).argv


def javascript(code: str) -> dict[str, Any]:
    """A call of the tool through which Codex's newer models do everything."""
    return {"tool": "exec", "args": {"_custom": code}}


def patch(text: str) -> dict[str, Any]:
    """A patch, applied by such a call."""
    return javascript(f"text(await tools.apply_patch({json.dumps(text)}));")


#: `code mode` is what the newest models get, one function a tool the others.
MODES = pytest.mark.parametrize("mode", [(), ("-m", "gpt-5.1")], ids=["code-mode", "functions"])


@MODES
def test_a_headless_run_is_told_event_by_event_with_exit_codes(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path, mode: Sequence[str]
) -> None:
    played = model([{"shell": "make build"}, {"shell": "cd / && pwd"}, {"text": "All done."}])
    bench, session = codex(played), ear(CodexCli())
    done = bench.run(start(bench, tmp_path, *EXEC, *mode, "build it"), session.env)
    assert done.returncode == 0 and done.stdout.startswith("All done.")
    kinds = [type(event) for event in session.events]
    assert kinds == [UserMessage, *[Proposed, Observed] * 2, Finished]
    assert session.events[0] == UserMessage("build it")
    assert [(s.action, s.exit_code, s.cwd) for s in session.steps] == [
        ("make build", 2, str(bench.project)),
        ("cd / && pwd", 0, str(bench.project)),
    ]
    assert "db.h: No such file" in session.steps[0].observation


@MODES
def test_a_reminder_after_a_step_is_in_the_next_request_and_stands_there_once(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path, mode: Sequence[str]
) -> None:
    played = model([{"shell": "make build"}, {"shell": "cat Makefile"}, {"text": "Done."}])
    bench, session = codex(played), ear(CodexCli(), after("make build", TOLD))
    bench.run(start(bench, tmp_path, *EXEC, *mode, "build it"), session.env)
    assert [body.count(HEADER) for body in played.bodies()] == [0, 1, 1]
    told = [i for i in played.requests()[1]["body"]["input"] if HEADER in json.dumps(i)]
    assert [item["role"] for item in told] == ["developer"]


@MODES
def test_a_held_command_is_put_back_once_and_runs_when_proposed_again(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path, mode: Sequence[str]
) -> None:
    played = model([*[{"shell": "make build"}] * 4, {"text": "Done."}])
    bench, session = codex(played), ear(CodexCli(), nth("make build", 3, HELD))
    done = bench.run(start(bench, tmp_path, *EXEC, *mode, "build it"), session.env)
    assert done.stdout.startswith("Done.")
    assert [step.exit_code for step in session.steps] == [2, 2, 2]
    assert [body.count(HEADER) for body in played.bodies()] == [0, 0, 0, 1, 1]
    (told,) = [i for i in played.requests()[-1]["body"]["input"] if HEADER in json.dumps(i)]
    assert told["type"].endswith("_call_output")


def test_three_parallel_calls_are_three_steps(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shells": ["echo one", "make build", "echo three"]}, {"text": "Done."}])
    bench, session = codex(played), ear(CodexCli())
    bench.run(start(bench, tmp_path, *EXEC, "-m", "gpt-5.1", "build it"), session.env)
    assert sorted((s.action, s.exit_code) for s in session.steps) == [
        ("echo one", 0), ("echo three", 0), ("make build", 2),
    ]  # fmt: skip


def test_a_patch_is_an_edit_and_one_that_fails_an_error(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    good = "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch"
    bad = "*** Begin Patch\n*** Update File: nope.txt\n@@\n-a\n+b\n*** End Patch"
    played = model([patch(good), patch(bad), {"shell": "make build"}, {"text": "Done."}])
    bench, session = codex(played), ear(CodexCli())
    bench.run(start(bench, tmp_path, *EXEC, "build it"), session.env)
    first, second, third = session.steps
    assert (first.kind, first.action, first.exit_code) == ("edit", good, 0)
    assert first.observation.startswith("Success.")
    assert (second.kind, second.action, second.is_error) == ("edit", bad, True)
    assert "Failed to read file to update" in second.observation
    assert third.exit_code == 2


def test_a_command_that_outlives_its_call_is_one_step_when_it_ended(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    code = (
        'const r = await tools.exec_command({cmd: "sleep 1; exit 5", yield_time_ms: 250});'
        "text(await tools.write_stdin("
        '{session_id: r.session_id, chars: "", yield_time_ms: 5000}));'
    )
    played = model([javascript(code), {"text": "Done."}])
    bench, session = codex(played), ear(CodexCli())
    bench.run(start(bench, tmp_path, *EXEC, "build it"), session.env)
    assert [(s.action, s.exit_code) for s in session.steps] == [("sleep 1; exit 5", 5)]


def test_a_conversation_taken_up_again_is_told(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shell": "make build"}, {"text": "Done."}, {"text": "Done again."}])
    bench, session = codex(played), ear(CodexCli())
    bench.run(start(bench, tmp_path, *EXEC, "build it"), session.env)
    again = (*EXEC, "resume", "--last", "and again")
    assert bench.run(start(bench, tmp_path, *again), session.env).stdout.startswith("Done again.")
    assert [e.how for e in session.events if isinstance(e, Started)] == ["resume"]


def test_a_compaction_is_told_before_and_after(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shell": "make build"}, {"text": "Done."}, {"text": "Again."}])
    bench, session = codex(played), ear(CodexCli())
    bench.run(start(bench, tmp_path, *EXEC, "build it"), session.env)
    full = ("-c", "model_auto_compact_token_limit=50")
    go_on = (*EXEC, "resume", "--last", *full, "go on [[step 1]]")  # the play forgets what it said
    bench.run(start(bench, tmp_path, *go_on), session.env)
    assert [e.how for e in session.events if isinstance(e, Started)] == ["resume", "compact"]
    kinds = [type(event) for event in session.events]
    assert kinds.index(Compacting) < kinds.index(Observed, kinds.index(Compacting))
    assert session.steps[-1].kind == "compaction"


def test_only_pmems_own_hook_is_trusted(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shell": "make build"}, {"text": "Done."}])
    bench, session = codex(played), ear(CodexCli())
    log = bench.home / "log"
    unreviewed = (
        f'hooks.PreToolUse=[{{matcher="*",hooks=[{{type="command",command="echo x >> {log}"}}]}}]'
    )
    bench.run(start(bench, tmp_path, "-c", unreviewed, *EXEC, "build it"), session.env)
    assert not log.exists()
    assert len(session.steps) == 1


def test_hooks_of_the_users_own_run_as_often_as_without_pmem(
    model: StartModel, codex: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    counts = {}
    for name in ("bare", "pmem"):
        bench = codex(model([{"shell": "make build"}, {"text": "Done."}]), name)
        log = bench.home / "log"
        group = f'{{matcher="*",hooks=[{{type="command",command="echo x >> {log}"}}]}}'
        with (bench.home / ".codex" / "config.toml").open("a") as config:
            config.write(f"\n[hooks]\nPreToolUse=[{group}]\n")
        own = ("--dangerously-bypass-hook-trust", "-c", f"hooks.PostToolUse=[{group}]")
        args = [*own, *EXEC, "build it"]
        if name == "pmem":
            session = ear(CodexCli())
            bench.run(start(bench, tmp_path, *args), session.env)
            assert len(session.steps) == 1
        else:
            bench.run([str(bench.program), *args])
        counts[name] = log.read_text().count("x")
    assert counts["pmem"] == counts["bare"] == 2


def test_without_a_session_the_agent_works_as_ever(
    model: StartModel, codex: MakeBench, tmp_path: Path, short_dir: Path
) -> None:
    bench = codex(model([{"shell": "make build"}, {"text": "Done."}]))
    gone = {"PMEM_SOCK": str(short_dir / "gone"), "PMEM_TOKEN": "token"}
    done = bench.run(start(bench, tmp_path, *EXEC, "build it"), gone)
    assert done.returncode == 0 and done.stdout.startswith("Done.")


def test_on_its_screen_reminder_hold_and_refusal_are_seen(
    model: StartModel,
    codex: MakeBench,
    ear: OpenEar,
    screen: Callable[..., Screen],
    tmp_path: Path,
) -> None:
    asks = 'text(await tools.exec_command({cmd: "touch /nowhere/x", sandbox_permissions: '
    asks += '"require_escalated", justification: "it is needed"}));'
    played = model(
        [{"shell": "cat Makefile"}, {"shell": "make build"}, javascript(asks), {"text": "Stopped."}]
    )
    replies = (after("cat Makefile", TOLD), nth("make build", 1, HELD))

    def reply(event: Event) -> Answer:
        return next((a for a in (r(event) for r in replies) if a.reminder), SILENT)

    bench, session = codex(played), ear(CodexCli(), reply)
    modes = ("-a", "on-request", "-s", "danger-full-access")
    shown = screen(bench, start(bench, tmp_path, *modes), session.env)
    shown.wait("Ask Codex to do anything")
    shown.enter("build it")
    session.wait(Proposed, 3)
    shown.wait(  # told is not yet painted
        "Hook · [MEMORY REMINDER] make build failed twice alike (steps 1, 2).",
        "· make-build (steps 1, 2): make build: failed at steps 1, 2",
        "held back once; proposed again it runs",
    )
    shown.wait("Stopped.")
    session.wait(Finished)
    shown.enter("/quit")
    shown.wait("EXIT=0")
