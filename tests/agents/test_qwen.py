"""Qwen Code's payloads as events and answers, and the settings file of one session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.protocol import HookLine
from pmem.agents.qwen_code import VARIABLE, QwenCode
from pmem.agents.qwen_hooks import EVENTS, QwenHooks
from pmem.core.decision import HEADER, Reminder
from pmem.core.event import (
    SILENT,
    Answer,
    Compacting,
    Event,
    Finished,
    Observed,
    Proposed,
    UserMessage,
)
from pmem.core.step import Action, Step

ANSWER = Answer(Reminder("make failed twice alike.", ("make",), "r", "c"))
HOOK = HookLine("client || exit 0")
RESULT = """Command: make
Directory: (root)
Output: compiling
Error: (none)
Exit Code: 2
Signal: (none)
Process Group PGID: (none)"""


def payload(event: str, **rest: Any) -> bytes:
    return json.dumps({"session_id": "s", "cwd": "/p", "hook_event_name": event, **rest}).encode()


def shell(command: str = "make", id: str = "call_1", **rest: Any) -> dict[str, Any]:
    given = {"command": command, **rest.pop("given", {})}
    ids = {"tool_use_id": "toolu_x", "tool_call_id": id}
    return {"tool_name": "run_shell_command", "tool_input": given, **ids, **rest}


def the_step(events: list[Event]) -> Step:
    (event,) = events
    assert isinstance(event, Observed)
    return event.step


@pytest.fixture
def hooks() -> QwenHooks:
    return QwenHooks()


def test_a_command_that_failed_tells_its_output_and_exit_code(hooks: QwenHooks) -> None:
    proposed = hooks.events(payload("PreToolUse", **shell(given={"directory": "web"})))
    assert proposed == [
        Proposed(Action("command", "make", "/p/web", "run_shell_command", "call_1"))
    ]
    failed = payload("PostToolUseFailure", **shell(error=RESULT, duration_ms=1500))
    step = the_step(hooks.events(failed))
    assert (step.exit_code, step.observation, step.seconds) == (2, "compiling", 1.5)
    assert (step.cwd, step.call_id) == ("/p/web", "call_1")


@pytest.mark.parametrize(
    ("output", "seen", "code"),
    [
        (RESULT.replace("2\n", "0\n"), "compiling", 0),
        (RESULT.replace("compiling", "(empty)").replace("Error: (none)", "Error: lost"), "lost", 2),
        (RESULT.replace("compiling", "Output: a\nError: b\nExit Code: 7"),
         "Output: a\nError: b\nExit Code: 7", 2),
        (RESULT.replace("Exit Code: 2", "Exit Code: (none)").replace("Signal: (none)", "Signal: 9"),
         "compiling", 137),
    ],
)  # fmt: skip
def test_output_and_exit_code_are_read_from_what_the_model_gets(
    hooks: QwenHooks, output: str, seen: str, code: int
) -> None:
    response = {"llmContent": output, "returnDisplay": ""}
    step = the_step(hooks.events(payload("PostToolUse", **shell(tool_response=response))))
    assert (step.kind, step.observation, step.exit_code) == ("command", seen, code)


def test_a_command_moved_to_the_background_is_no_attempt(hooks: QwenHooks) -> None:
    response = {"llmContent": "Background shell started."}
    step = the_step(hooks.events(payload("PostToolUse", **shell(tool_response=response))))
    assert (step.kind, step.exit_code) == ("tool", None)


def test_edits_and_looks_are_told_as_such(hooks: QwenHooks) -> None:
    given = {"file_path": "/p/a", "old_string": "x", "new_string": "y"}
    call = {"tool_name": "edit", "tool_input": given}
    (edit,) = hooks.events(payload("PreToolUse", **call))
    assert isinstance(edit, Proposed)
    assert (edit.action.kind, edit.action.text) == ("edit", "edit /p/a\n--- old\nx\n--- new\ny")
    read = {"tool_name": "read_file", "tool_input": {"file_path": "/p/a"}}
    (look,) = hooks.events(payload("PreToolUse", **read))
    assert isinstance(look, Proposed)
    assert (look.action.kind, look.action.text) == ("read", "read_file /p/a")
    assert the_step(hooks.events(payload("PostToolUseFailure", **call, error="no"))).is_error


def test_a_compaction_is_told_before_and_after(hooks: QwenHooks) -> None:
    assert hooks.events(payload("PreCompact", trigger="auto")) == [Compacting()]
    step = the_step(hooks.events(payload("PostCompact", compact_summary="we built it")))
    assert (step.kind, step.observation) == ("compaction", "we built it")


def test_only_the_users_own_words_are_a_message(hooks: QwenHooks) -> None:
    said = payload("UserPromptSubmit", prompt="build it", submitted_prompt="build it")
    assert hooks.events(said) == [UserMessage("build it")]
    assert hooks.events(payload("UserPromptSubmit", prompt="")) == []


def test_what_is_said_before_a_tool_runs_waits_for_its_result(hooks: QwenHooks) -> None:
    proposed = payload("PreToolUse", **shell())
    hooks.events(proposed)
    assert hooks.answer(proposed, ANSWER) == b""
    done = payload("PostToolUseFailure", **shell(error=RESULT))
    hooks.events(done)
    said = json.loads(hooks.answer(done, SILENT))["hookSpecificOutput"]
    assert said["hookEventName"] == "PostToolUseFailure"
    assert said["additionalContext"].count(HEADER) == 1
    assert hooks.answer(done, SILENT) == b""


def test_a_held_command_is_no_step(hooks: QwenHooks) -> None:
    proposed = payload("PreToolUse", **shell())
    hooks.events(proposed)
    held = json.loads(hooks.answer(proposed, Answer(ANSWER.reminder, hold=True)))
    assert held["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert hooks.events(payload("PostToolUseFailure", **shell(error="denied"))) == []
    assert hooks.events(payload("Stop", last_assistant_message="ok")) == [Finished("ok")]


def test_a_call_without_an_end_is_one_the_user_turned_down(hooks: QwenHooks) -> None:
    hooks.events(payload("UserPromptSubmit", prompt="go"))
    hooks.events(payload("PreToolUse", agent_id="a", **shell()))
    first, last = hooks.events(payload("Stop", agent_id="a"))
    assert isinstance(first, Observed) and first.step.refused and first.step.agent_id == "a"
    assert last == Finished("", "a")


def test_a_call_that_was_turned_down_or_malformed_shows_in_the_batch(hooks: QwenHooks) -> None:
    def ended(id: str, status: str, why: str) -> dict[str, Any]:
        parts = [{"functionResponse": {"response": {"error": why}}}]
        return {**shell(id=id), "status": status, "tool_response": {"response_parts": parts}}

    hooks.events(payload("PreToolUse", **shell(id="c1")))
    hooks.events(payload("PostToolUseFailure", **shell(id="c1", error=RESULT)))
    batch = [
        *(ended("c1", "error", RESULT), ended("c2", "cancelled", "did not allow")),
        *(ended("c3", "error", "no such tool"), ended("c4", "success", "")),
    ]
    events = hooks.events(payload("PostToolBatch", tool_calls=batch))
    steps = [event.step for event in events if isinstance(event, Observed)]
    assert [(s.call_id, s.refused, s.is_error, s.observation) for s in steps] == [
        ("c2", True, None, "did not allow"),
        ("c3", False, True, "no such tool"),
    ]


@pytest.mark.parametrize("odd", [payload("PreToolUse"), payload("PostToolUse"), payload("Stop")])
def test_fields_that_are_missing_are_no_reason_to_fail(hooks: QwenHooks, odd: bytes) -> None:
    hooks.events(odd)
    hooks.answer(odd, ANSWER)


# -- the settings file -------------------------------------------------------------------------


def launched(home: Path, run_dir: Path, *args: str, **env: str) -> dict[str, Any] | None:
    """The settings of the session, None if nothing was added; a remark is told by KeyError."""
    line = QwenCode().launch("qwen", args, HOOK, run_dir, {"HOME": str(home), **env}, run_dir)
    assert list(line.argv) == ["qwen", *args]
    if line.remark:
        raise KeyError(line.remark)
    settings: dict[str, Any] | None = (
        json.loads(Path(line.env[VARIABLE]).read_text()) if VARIABLE in line.env else None
    )
    return settings


def test_the_machines_settings_stay_with_pmems_hooks_behind_theirs(
    home: Path, tmp_path: Path
) -> None:
    theirs = [{"hooks": [{"type": "command", "command": "audit"}]}]
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps({"tools": {"core": ["x"]}, "hooks": {"Stop": theirs}}))
    settings = launched(home, tmp_path, "-p", "x", **{VARIABLE: str(machine)})
    assert settings is not None and settings["tools"] == {"core": ["x"]}
    assert settings["hooks"]["Stop"][0] == theirs[0]
    assert set(settings["hooks"]) == set(EVENTS)
    (ours,) = settings["hooks"]["PreToolUse"]
    assert ours["hooks"][0]["timeout"] == 10_000  # milliseconds


@pytest.mark.parametrize("args", [("mcp", "list"), ("--version",), ("hooks",)])
def test_what_is_no_task_passes_untouched(home: Path, tmp_path: Path, args: tuple[str]) -> None:
    assert launched(home, tmp_path, *args) is None


def test_broken_settings_of_the_machine_are_refused_with_a_sentence(
    home: Path, tmp_path: Path
) -> None:
    machine = tmp_path / "machine.json"
    machine.write_text("{")
    with pytest.raises(ValueError, match=r"machine\.json cannot be read"):
        launched(home, tmp_path, **{VARIABLE: str(machine)})


@pytest.mark.parametrize(
    ("args", "env", "why"),
    [(("--bare",), {}, "--bare"), (("-s",), {}, "sandbox"),
     ((), {"QWEN_CODE_SAFE_MODE": "1"}, "QWEN_CODE_SAFE_MODE")],
)  # fmt: skip
def test_where_hooks_are_off_it_is_said(
    home: Path, tmp_path: Path, args: tuple[str], env: dict[str, str], why: str
) -> None:
    with pytest.raises(KeyError, match=why):
        launched(home, tmp_path, *args, **env)


def test_hooks_that_the_user_switched_off_are_noticed(home: Path, tmp_path: Path) -> None:
    (home / ".qwen").mkdir()
    (home / ".qwen" / "settings.json").write_text('{"disableAllHooks": true}')
    with pytest.raises(KeyError, match="disableAllHooks in"):
        launched(home, tmp_path)
