"""The real Gemini CLI: what its hooks tell, and where an answer reaches its model and its user.

A bare socket stands for the session here, so that every answer is the test's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from real_agents import HELD, TOLD, Bench, Ear, Model, Screen, after, nth

from pmem.agents.gemini_cli import GeminiCli
from pmem.agents.protocol import HookLine, Launch
from pmem.core.decision import HEADER
from pmem.core.event import (
    SILENT,
    Answer,
    Ended,
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
HEADLESS = ("-m", "gemini-2.5-pro", "--yolo", "-p", "build it")


def start(bench: Bench, run_dir: Path, *args: str) -> Launch:
    """How the adapter starts it with these arguments."""
    line = HookLine(hook_command("gemini", seconds=8))  # on a busy machine too
    program = str(bench.program)
    return GeminiCli().launch(program, args, line, run_dir, bench.env, bench.project)


def run(bench: Bench, session: Ear, run_dir: Path, *args: str) -> Any:
    """Runs it to the end, and what is to be done after."""
    launched = start(bench, run_dir, *args)
    done = bench.run(launched.argv, {**session.env, **launched.env})
    assert launched.after is not None
    launched.after()
    return done


def results(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool results in a request to the model."""
    parts = [part for content in request["body"]["contents"] for part in content["parts"]]
    return [p["functionResponse"]["response"] for p in parts if "functionResponse" in p]


def test_a_headless_run_is_told_event_by_event_with_exit_codes(
    model: StartModel, gemini: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model(
        [{"shell": "make build"}, {"shell": "cd / && pwd"}, {"shell": "kill -9 $$"},
         {"text": "All done."}]
    )  # fmt: skip
    bench, session = gemini(played), ear(GeminiCli())
    done = run(bench, session, tmp_path, *HEADLESS)
    assert done.returncode == 0 and "All done." in done.stdout
    kinds = [type(event) for event in session.events]
    assert kinds == [Started, UserMessage, *[Proposed, Observed] * 3, Finished, Ended]
    assert session.events[1] == UserMessage("build it")
    assert [(s.action, s.exit_code, s.cwd) for s in session.steps] == [
        ("make build", 2, str(bench.project)),
        ("cd / && pwd", 0, str(bench.project)),
        ("kill -9 $$", 137, str(bench.project)),
    ]
    assert [step.observation for step in session.steps[1:]] == ["/", ""]
    assert "db.h: No such file" in session.steps[0].observation


def test_a_reminder_after_a_step_is_in_the_next_request_and_stands_there_once(
    model: StartModel, gemini: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shell": "make build"}, {"shell": "cat Makefile"}, {"text": "Done."}])
    bench, session = gemini(played), ear(GeminiCli(), after("make build", TOLD))
    run(bench, session, tmp_path, *HEADLESS)
    assert [body.count(HEADER) for body in played.bodies()] == [0, 1, 1]
    assert [HEADER in r["output"] for r in results(played.requests()[1])] == [True]


def test_a_reminder_at_a_proposal_waits_for_the_result(
    model: StartModel, gemini: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shell": "make build"}, {"text": "Done."}])
    bench, session = gemini(played), ear(GeminiCli(), nth("make build", 1, TOLD))
    run(bench, session, tmp_path, *HEADLESS)
    assert [body.count(HEADER) for body in played.bodies()] == [0, 1]
    assert [step.exit_code for step in session.steps] == [2]


def test_a_held_command_is_put_back_once_and_runs_when_proposed_again(
    model: StartModel, gemini: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([*[{"shell": "make build"}] * 4, {"text": "Done."}])
    bench, session = gemini(played), ear(GeminiCli(), nth("make build", 3, HELD))
    done = run(bench, session, tmp_path, *HEADLESS)
    assert "Done." in done.stdout
    assert [step.exit_code for step in session.steps] == [2, 2, 2]
    told = results(played.requests()[-1])
    assert [HEADER in json.dumps(result) for result in told] == [False, False, True, False]
    assert played.bodies()[-1].count(HEADER) == 1


def test_three_parallel_calls_are_three_steps(
    model: StartModel, gemini: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    played = model([{"shells": ["echo one", "make build", "echo three"]}, {"text": "Done."}])
    bench, session = gemini(played), ear(GeminiCli())
    run(bench, session, tmp_path, *HEADLESS)
    assert sorted((s.action, s.exit_code) for s in session.steps) == [
        ("echo one", 0), ("echo three", 0), ("make build", 2),
    ]  # fmt: skip


def test_edits_look_ups_and_a_background_command_are_told_apart(
    model: StartModel, gemini: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    write = {"file_path": "a.txt", "content": "hello\n"}
    change = {"file_path": "a.txt", "instruction": "x", "old_string": "nope", "new_string": "b"}
    background = {"command": "sleep 1; false", "is_background": True}
    played = model(
        [
            {"tool": "write_file", "args": write},
            {"tool": "read_file", "args": {"file_path": "a.txt"}},
            {"tool": "replace", "args": change},
            {"tool": "run_shell_command", "args": background},
            {"text": "Done."},
        ]
    )
    bench, session = gemini(played), ear(GeminiCli())
    run(bench, session, tmp_path, *HEADLESS)
    assert [(s.kind, s.is_error, s.exit_code) for s in session.steps] == [
        ("edit", None, None), ("read", None, None), ("edit", True, None), ("tool", None, None),
    ]  # fmt: skip
    assert session.steps[0].action == "write_file a.txt\nhello\n"
    assert session.steps[1].observation == "hello\n"


def test_the_users_own_home_is_used_and_left_as_without_pmem(
    model: StartModel, gemini: MakeBench, ear: OpenEar, tmp_path: Path
) -> None:
    left = {}
    for name in ("bare", "pmem"):
        bench = gemini(model([{"shell": "make build"}, {"text": "Done."}]), name)
        log = bench.home / "log"
        settings = json.loads((bench.home / ".gemini/settings.json").read_text())
        line = {"type": "command", "command": f"echo hook >> {log}"}
        settings["hooks"] = {"BeforeTool": [{"matcher": "*", "hooks": [line]}]}
        (bench.home / ".gemini/settings.json").write_text(json.dumps(settings))
        if name == "pmem":
            session = ear(GeminiCli())
            run(bench, session, tmp_path, *HEADLESS)
            assert len(session.steps) == 1
        else:
            bench.run([str(bench.program), *HEADLESS])
        files = {file for file in bench.files() if "/chats/" not in file}
        left[name] = (log.read_text().count("hook"), files)
        assert json.loads((bench.home / ".gemini/settings.json").read_text()) == settings
    assert left["pmem"] == left["bare"]
    assert left["pmem"][0] == 1


def test_without_a_session_the_agent_works_as_ever(
    model: StartModel, gemini: MakeBench, tmp_path: Path, short_dir: Path
) -> None:
    bench = gemini(model([{"shell": "make build"}, {"text": "Done."}]))
    launched = start(bench, tmp_path, *HEADLESS)
    gone = {"PMEM_SOCK": str(short_dir / "gone"), "PMEM_TOKEN": "token"}
    done = bench.run(launched.argv, {**launched.env, **gone})
    assert done.returncode == 0 and "Done." in done.stdout
    assert "hook" not in done.stderr.lower()


def test_on_its_screen_reminder_hold_and_refusal_are_seen(
    model: StartModel,
    gemini: MakeBench,
    ear: OpenEar,
    screen: Callable[..., Screen],
    tmp_path: Path,
) -> None:
    played = model(
        [{"tool": "read_file", "args": {"file_path": "Makefile"}}, {"shell": "make build"},
         {"shell": "touch x"}]
    )  # fmt: skip
    replies = (after("read_file Makefile", TOLD), nth("make build", 1, HELD))

    def reply(event: Event) -> Answer:
        return next((a for a in (r(event) for r in replies) if a.reminder), SILENT)

    bench, session = gemini(played), ear(GeminiCli(), reply)
    launched = start(bench, tmp_path, "-m", "gemini-2.5-pro")
    shown = screen(bench, launched.argv, {**session.env, **launched.env})
    session.wait(Started)  # what is typed before goes on without its hook
    shown.wait("Type your message")
    shown.enter("build it")
    seen = shown.wait("touch x", "Allow once")
    assert "[MEMORY REMINDER] make build failed twice alike (steps 1, 2)." in seen
    assert "· make-build (steps 1, 2): make build: failed at steps 1, 2" in seen
    assert "held back once; proposed again it runs" in seen
    shown.keys("Escape")
    shown.wait("Request cancelled.")
    shown.enter("leave it then")
    session.wait(Proposed, 4)
    said = [event.text for event in session.events if isinstance(event, UserMessage)]
    assert said == ["build it", "leave it then"]
    assert [(s.action, s.refused) for s in session.steps] == [
        ("read_file Makefile", False), ("touch x", True),
    ], session.payloads  # fmt: skip
