"""Copilot CLI's payloads as events and answers, and the plug-in of one session."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.copilot_cli import CopilotCli
from pmem.agents.copilot_hooks import EVENTS, CopilotHooks
from pmem.agents.protocol import HookLine
from pmem.core.decision import HEADER, Reminder
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
from pmem.core.step import Action, Step

ANSWER = Answer(Reminder("make failed twice alike.", ("make",), "r", "c"))
HOOK = HookLine("client || exit 0")


def payload(event: str, **rest: Any) -> bytes:
    said = {"sessionId": "s", "cwd": "/p", **rest}
    return json.dumps({"event": event, "payload": said}).encode()


def make(text: str | None = None, **rest: Any) -> dict[str, Any]:
    call = {"toolName": "bash", "toolArgs": {"command": "make", "description": "build"}}
    result = {} if text is None else {"toolResult": {"textResultForLlm": text}}
    return {**call, **result, **rest}


def the_step(events: list[Event]) -> Step:
    (event,) = events
    assert isinstance(event, Observed)
    return event.step


@pytest.fixture
def hooks() -> CopilotHooks:
    return CopilotHooks()


def test_the_exit_code_stands_at_the_end_of_what_the_model_gets(hooks: CopilotHooks) -> None:
    proposed = Proposed(Action("command", "make", "/p", "bash"))
    assert hooks.events(payload("preToolUse", **make())) == [proposed]
    text = "no rule\n<shellId: 0 completed with exit code 2>"
    step = the_step(hooks.events(payload("postToolUse", **make(text))))
    assert (step.action, step.observation, step.exit_code) == ("make", "no rule", 2)
    assert hooks.events(payload("postToolUse", **make(text))) == []


def test_a_command_that_still_runs_is_no_attempt(hooks: CopilotHooks) -> None:
    step = the_step(hooks.events(payload("postToolUse", **make("<running>"))))
    assert (step.kind, step.exit_code) == ("tool", None)


def test_the_same_command_again_is_another_step(hooks: CopilotHooks) -> None:
    for code in (2, 0):
        hooks.events(payload("preToolUse", **make()))
        text = f"x\n<shellId: 0 completed with exit code {code}>"
        assert the_step(hooks.events(payload("postToolUse", **make(text)))).exit_code == code


def test_an_edit_that_failed_is_an_error(hooks: CopilotHooks) -> None:
    given = {"path": "/p/a", "old_str": "x", "new_str": "y"}
    call = {"toolName": "edit", "toolArgs": given}
    step = the_step(hooks.events(payload("postToolUseFailure", error="No match found", **call)))
    assert (step.kind, step.action) == ("edit", "edit /p/a\n--- old\nx\n--- new\ny")
    assert (step.is_error, step.refused, step.observation) == (True, False, "No match found")


def test_what_is_said_before_a_tool_runs_waits_for_its_result(hooks: CopilotHooks) -> None:
    proposed = payload("preToolUse", **make())
    hooks.events(proposed)
    assert hooks.answer(proposed, ANSWER) == b""
    done = payload("postToolUse", **make("x"))
    hooks.events(done)
    assert json.loads(hooks.answer(done, SILENT))["additionalContext"].count(HEADER) == 1
    assert hooks.answer(done, SILENT) == b""


def test_a_held_command_is_no_step(hooks: CopilotHooks) -> None:
    proposed = payload("preToolUse", **make())
    hooks.events(proposed)
    told = json.loads(hooks.answer(proposed, Answer(ANSWER.reminder, hold=True)))
    assert told["permissionDecision"] == "deny"
    assert told["permissionDecisionReason"].startswith(HEADER)
    assert hooks.events(payload("agentStop")) == [Finished("")]


def test_a_session_opens_is_asked_and_ends(hooks: CopilotHooks) -> None:
    assert hooks.events(payload("sessionStart", source="new")) == [Started("startup")]
    assert hooks.events(payload("sessionStart", source="resume")) == [Started("resume")]
    assert hooks.events(payload("userPromptSubmitted", prompt="go")) == [UserMessage("go")]
    assert hooks.events(payload("agentStop", transcriptPath="/x")) == [Finished("")]
    assert hooks.events(payload("sessionEnd")) == [Ended()]


def test_a_call_without_an_end_is_one_the_user_turned_down(hooks: CopilotHooks) -> None:
    hooks.events(payload("preToolUse", agentId="a", **make()))
    assert hooks.events(payload("agentStop")) == [Finished("")]
    first, last = hooks.events(payload("agentStop", agentId="a"))
    assert isinstance(first, Observed) and first.step.refused and first.step.agent_id == "a"
    assert last == Finished("", "a")


@pytest.mark.parametrize("event", EVENTS)
def test_fields_that_are_missing_are_no_reason_to_fail(hooks: CopilotHooks, event: str) -> None:
    hooks.events(payload(event))
    hooks.answer(payload(event), ANSWER)


# -- the plug-in -------------------------------------------------------------------------------


def test_the_plugin_tells_each_event_with_its_payload(tmp_path: Path) -> None:
    launch = CopilotCli().launch("copilot", ["-p", "x"], HookLine("cat || exit 0", 7), tmp_path, {})
    *before, option, place = launch.argv
    assert (before, option) == (["copilot", "-p", "x"], "--plugin-dir")
    manifest = json.loads((Path(place) / "plugin.json").read_text())
    hooks = json.loads((Path(place) / manifest["hooks"]).read_text())["hooks"]
    assert tuple(hooks) == EVENTS
    (hook,) = hooks["postToolUse"]
    assert hook["timeoutSec"] == 7  # seconds
    ran = subprocess.run(["/bin/bash", "-c", hook["bash"]], input=b'{"a": 1}', capture_output=True)
    assert json.loads(ran.stdout) == {"event": "postToolUse", "payload": {"a": 1}}
    assert ran.returncode == 0


@pytest.mark.parametrize("args", [["login"], ["--version"], ["plugin", "list"]])
def test_subcommands_pass_untouched(tmp_path: Path, args: list[str]) -> None:
    launch = CopilotCli().launch("copilot", args, HOOK, tmp_path, {})
    assert list(launch.argv) == ["copilot", *args]


def test_an_agent_that_works_elsewhere_is_told(tmp_path: Path) -> None:
    launch = CopilotCli().launch("copilot", ["--connect=x"], HOOK, tmp_path, {})
    assert "--connect" in launch.remark and list(launch.argv) == ["copilot", "--connect=x"]
