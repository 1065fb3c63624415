"""Claude Code's payloads, in the shapes 2.1.332 sends, become events; answers become its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.claude_hooks import ClaudeHooks
from pmem.core.decision import HEADER, Delivery, Reminder
from pmem.core.event import (
    SILENT,
    Answer,
    Citation,
    Compacting,
    Ended,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.step import Action, Step


def payload(event: str, **rest: Any) -> bytes:
    told = {"session_id": "s1", "cwd": "/p", "hook_event_name": event, **rest}
    return json.dumps(told).encode()


def call(tool: str, given: dict[str, Any], id: str = "t1", **rest: Any) -> dict[str, Any]:
    return {"tool_name": tool, "tool_input": given, "tool_use_id": id, **rest}


def bash(command: str, id: str = "t1", **rest: Any) -> dict[str, Any]:
    return call("Bash", {"command": command}, id, **rest)


def output(stdout: str, **rest: Any) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, **rest}


def the_step(events: list[Event]) -> Step:
    (event,) = events
    assert isinstance(event, Observed)
    return event.step


@pytest.fixture
def hooks() -> ClaudeHooks:
    return ClaudeHooks()


def test_a_command_about_to_run_is_proposed(hooks: ClaudeHooks) -> None:
    assert hooks.events(payload("PreToolUse", **bash("make", "t9"))) == [
        Proposed(Action("command", "make", "/p", "Bash", "t9"))
    ]


def test_a_command_that_passed_has_exit_code_0_and_its_time(hooks: ClaudeHooks) -> None:
    told = bash("make", tool_response=output("ok"), duration_ms=250)
    assert the_step(hooks.events(payload("PostToolUse", **told))) == Step(
        *(0, "command", "make", "ok", 0, "/p"),
        seconds=0.25,
        call_id="t1",
        tool="Bash",
        is_error=False,
    )


def test_a_failed_command_has_its_exit_code_and_its_output_without_it(hooks: ClaudeHooks) -> None:
    told = bash("make", error="Exit code 2\nno rule\nmake: *** Error", is_interrupt=False)
    step = the_step(hooks.events(payload("PostToolUseFailure", **told)))
    assert (step.exit_code, step.observation) == (2, "no rule\nmake: *** Error")
    silent = bash("false", error="Exit code 1")
    step = the_step(hooks.events(payload("PostToolUseFailure", **silent)))
    assert (step.exit_code, step.observation) == (1, "")


def test_a_grep_without_a_match_is_exit_code_1_and_no_error(hooks: ClaudeHooks) -> None:
    response = output("", returnCodeInterpretation="No matches found")
    step = the_step(
        hooks.events(payload("PostToolUse", **bash("grep x f", tool_response=response)))
    )
    assert (step.exit_code, step.is_error) == (1, False)


def test_a_step_stands_in_the_directory_it_was_proposed_in(hooks: ClaudeHooks) -> None:
    hooks.events(payload("PreToolUse", **bash("cd web && npm test")))
    after = bash("cd web && npm test", tool_response=output("ok"), cwd="/p/web")
    assert the_step(hooks.events(payload("PostToolUse", **after))).cwd == "/p"


def test_the_tail_of_a_long_output_is_kept(hooks: ClaudeHooks, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("line\n" * 100_000 + "the last error\n")
    response = output(
        "line\n" * 6000, persistedOutputPath=str(file), persistedOutputSize=file.stat().st_size
    )
    step = the_step(hooks.events(payload("PostToolUse", **bash("make", tool_response=response))))
    assert step.observation.endswith("the last error\n")
    assert step.observation.startswith("line\n")
    assert len(step.observation) <= 20_100


def test_a_background_command_is_no_attempt_until_it_ended(
    hooks: ClaudeHooks, tmp_path: Path
) -> None:
    started = bash("npm run build", tool_response=output("", backgroundTaskId="b7"))
    step = the_step(hooks.events(payload("PostToolUse", **started)))
    assert (step.kind, step.exit_code) == ("tool", None)

    file = tmp_path / "b7.output"
    file.write_text("Module not found\n")
    prompt = (
        "<task-notification>\n<task-id>b7</task-id>\n<tool-use-id>t1</tool-use-id>\n"
        f"<output-file>{file}</output-file>\n<status>failed</status>\n"
        '<summary>Background command "npm run build" failed with exit code 4</summary>\n'
        "</task-notification>"
    )
    step = the_step(hooks.events(payload("UserPromptSubmit", prompt=prompt)))
    assert (step.kind, step.action, step.exit_code) == ("command", "npm run build", 4)
    assert (step.observation, step.cwd, step.call_id) == ("Module not found\n", "/p", "t1")


@pytest.mark.parametrize(
    ("tool", "given", "kind", "text"),
    [
        ("Edit", {"file_path": "/p/a", "old_string": "x", "new_string": "y"}, "edit",
         "Edit /p/a\n--- old\nx\n--- new\ny"),
        ("MultiEdit", {"file_path": "/p/a", "edits": [{"old_string": "x", "new_string": "y"}]},
         "edit", "MultiEdit /p/a\n--- old\nx\n--- new\ny"),
        ("Write", {"file_path": "/p/a", "content": "hello"}, "edit", "Write /p/a\nhello"),
        ("NotebookEdit", {"notebook_path": "/p/n.ipynb", "cell_id": "c", "new_source": "1"},
         "edit", "NotebookEdit /p/n.ipynb\n--- cell c replace\n1"),
        ("Read", {"file_path": "/p/a", "limit": 5}, "read", "Read /p/a limit=5"),
        ("Grep", {"pattern": "x", "path": "/p"}, "read", 'Grep pattern="x" path="/p"'),
        ("WebFetch", {"url": "https://e.org"}, "read", 'WebFetch {"url": "https://e.org"}'),
        ("mcp__db__query", {"sql": "한국어"}, "tool", 'mcp__db__query {"sql": "한국어"}'),
        ("Agent", {"subagent_type": "Explore", "description": "look", "prompt": "at it"}, "tool",
         "Task (Explore): look\nat it"),
        ("TodoWrite", {"todos": [{"status": "pending", "content": "test"}]}, "tool",
         "TodoWrite\n[pending] test"),
    ],
)  # fmt: skip
def test_every_tool_is_a_command_an_edit_a_look_up_or_another_tool(
    hooks: ClaudeHooks, tool: str, given: dict[str, Any], kind: str, text: str
) -> None:
    (event,) = hooks.events(payload("PreToolUse", **call(tool, given)))
    assert isinstance(event, Proposed)
    assert (event.action.kind, event.action.text) == (kind, text)


@pytest.mark.parametrize(
    ("tool", "response", "seen"),
    [
        ("Edit", {"filePath": "/p/a", "userModified": False}, "updated /p/a"),
        ("Write", {"type": "create", "filePath": "/p/a"}, "created /p/a"),
        ("Read", {"type": "text", "file": {"content": "hello\n"}}, "hello\n"),
        ("Glob", {"filenames": ["a", "b"], "numFiles": 2}, "a\nb"),
        ("Grep", {"mode": "content", "filenames": [], "content": "a:1:x"}, "a:1:x"),
        ("Grep", {"mode": "files_with_matches", "filenames": []}, "No files found"),
        ("mcp__db__query", [{"type": "text", "text": "3 rows"}], "3 rows"),
        ("mcp__db__query", {"rows": 3}, '{"rows": 3}'),
        ("Agent", {"status": "completed", "content": [{"type": "text", "text": "all"}]}, "all"),
        ("WebFetch", {"code": 200, "result": "the page"}, "the page"),
        ("Odd", None, ""),
    ],
)
def test_what_a_tool_brought_back_is_read_as_text(
    hooks: ClaudeHooks, tool: str, response: Any, seen: str
) -> None:
    told = call(tool, {"file_path": "/p/a"}, tool_response=response)
    step = the_step(hooks.events(payload("PostToolUse", **told)))
    assert (step.observation, step.exit_code) == (seen, None)


def test_a_call_that_never_ran_is_refused(hooks: ClaudeHooks) -> None:
    hooks.events(payload("PreToolUse", **bash("rm -rf build")))
    said = "The user doesn't want to proceed with this tool use."
    batch = payload("PostToolBatch", tool_calls=[bash("rm -rf build", tool_response=said)])
    step = the_step(hooks.events(batch))
    assert (step.refused, step.observation, step.exit_code) == (True, said, None)


def test_a_malformed_call_is_an_error_and_no_refusal(hooks: ClaudeHooks) -> None:
    given = {"file_path": "/p/a", "old_string": "nope", "new_string": "x"}
    said = "<tool_use_error>String to replace not found in file.</tool_use_error>"
    batch = payload("PostToolBatch", tool_calls=[call("Edit", given, tool_response=said)])
    step = the_step(hooks.events(batch))
    assert (step.kind, step.is_error, step.refused) == ("edit", True, False)


def test_each_of_three_parallel_calls_is_told_once(hooks: ClaudeHooks) -> None:
    for id in ("b", "a", "c"):
        hooks.events(payload("PreToolUse", **bash(f"echo {id}", id)))
    ends = [
        payload("PostToolUse", **bash("echo c", "c", tool_response=output("c"))),
        payload("PostToolUse", **bash("echo a", "a", tool_response=output("a"))),
        payload("PostToolUseFailure", **bash("echo b", "b", error="Exit code 1")),
    ]
    seen = [the_step(hooks.events(end)) for end in ends]
    batch = [bash(f"echo {id}", id, tool_response=id) for id in "abc"]
    assert hooks.events(payload("PostToolBatch", tool_calls=batch)) == []
    assert [(step.action, step.call_id) for step in seen] == [
        ("echo c", "c"), ("echo a", "a"), ("echo b", "b"),
    ]  # fmt: skip


def test_a_call_turned_down_by_a_key_is_told_when_the_next_one_comes(hooks: ClaudeHooks) -> None:
    hooks.events(payload("UserPromptSubmit", prompt="go"))
    hooks.events(payload("PreToolUse", **bash("git push")))
    assert hooks.events(payload("UserPromptSubmit", prompt="no, test first")) == [
        UserMessage("no, test first")
    ]
    first, second = hooks.events(payload("PreToolUse", **bash("make test", "t2")))
    assert isinstance(first, Observed) and first.step.refused
    assert first.step.action == "git push"
    assert second == Proposed(Action("command", "make test", "/p", "Bash", "t2"))


def test_a_message_queued_while_a_command_runs_refuses_nothing(hooks: ClaudeHooks) -> None:
    hooks.events(payload("UserPromptSubmit", prompt="go"))
    hooks.events(payload("PreToolUse", **bash("make")))
    hooks.events(payload("UserPromptSubmit", prompt="and then lint"))
    step = the_step(hooks.events(payload("PostToolUse", **bash("make", tool_response=output("")))))
    assert not step.refused
    assert hooks.events(payload("Stop", last_assistant_message="ok")) == [Finished("ok")]


def test_a_subagent_is_told_apart_even_with_the_same_call_id(hooks: ClaudeHooks) -> None:
    hooks.events(payload("PreToolUse", **bash("make")))
    sub = payload("PreToolUse", agent_id="a1", **bash("npm test"))
    assert hooks.events(sub) == [Proposed(Action("command", "npm test", "/p", "Bash", "t1"), "a1")]
    ended = payload("PostToolUse", agent_id="a1", **bash("npm test", tool_response=output("")))
    assert the_step(hooks.events(ended)).agent_id == "a1"
    parent = payload("PostToolUse", **bash("make", tool_response=output("")))
    assert the_step(hooks.events(parent)).agent_id is None


def test_the_conversation_opens_goes_on_and_ends(hooks: ClaudeHooks) -> None:
    for source in ("startup", "resume", "clear", "compact"):
        assert hooks.events(payload("SessionStart", source=source)) == [Started(source)]  # type: ignore[arg-type]
    assert hooks.events(payload("SessionEnd", reason="clear")) == []
    assert hooks.events(payload("SessionEnd", reason="other")) == [Ended()]
    assert hooks.events(payload("SomethingNew", tool_name=3)) == []


def test_a_compaction_is_told_before_and_is_a_step_with_its_summary(hooks: ClaudeHooks) -> None:
    assert hooks.events(payload("PreCompact", trigger="auto")) == [Compacting()]
    step = the_step(hooks.events(payload("PostCompact", compact_summary="we built it")))
    assert (step.kind, step.observation) == ("compaction", "we built it")


@pytest.mark.parametrize("broken", [b"", b"{", b"[1]", b"\xff\xfe"])
def test_a_broken_payload_is_a_value_error(hooks: ClaudeHooks, broken: bytes) -> None:
    with pytest.raises(ValueError):
        hooks.events(broken)


@pytest.mark.parametrize(
    "odd",
    [
        payload("PreToolUse"),
        payload("PreToolUse", tool_name="Bash", tool_input="x"),
        payload("PostToolUse", tool_name="Bash", tool_input={}, tool_response="text"),
        payload("PostToolUseFailure", tool_name="Bash", error=None),
        payload("PostToolBatch", tool_calls=[None, 3, {}]),
        payload("PostToolBatch", tool_calls="x"),
        payload("UserPromptSubmit"),
        payload("UserPromptSubmit", prompt="<task-notification>\n</task-notification>"),
        payload("MultiEdit", tool_input={"edits": [1]}),
    ],
)
def test_fields_that_are_missing_or_odd_are_no_reason_to_fail(
    hooks: ClaudeHooks, odd: bytes
) -> None:
    hooks.events(odd)


# -- answers ---------------------------------------------------------------------------------

REMINDER = Reminder("make failed twice alike (steps 1, 2).", ("make",), "repeat_failure", "make")
CITED = (Citation("make", "make: failed at steps 1, 2 (no rule).", (1, 2)),)


def told(hooks: ClaudeHooks, event: str, hold: bool = False, **rest: Any) -> dict[str, Any]:
    answer = Answer(REMINDER, hold, Delivery.BEFORE, CITED)
    answered: dict[str, Any] = json.loads(hooks.answer(payload(event, **rest), answer))
    return answered


@pytest.mark.parametrize(
    "event",
    ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit",
     "SessionStart"],
)  # fmt: skip
def test_a_reminder_is_context_for_the_model_and_a_message_for_the_human(
    hooks: ClaudeHooks, event: str
) -> None:
    said = told(hooks, event, **bash("make"))
    assert said["hookSpecificOutput"]["hookEventName"] == event
    assert said["hookSpecificOutput"]["additionalContext"].startswith(f"{HEADER} make failed")
    assert said["systemMessage"].splitlines() == [
        f"{HEADER} make failed twice alike (steps 1, 2).",
        "· make (steps 1, 2): make: failed at steps 1, 2 (no rule).",
        "more: pmem bank show make",
    ]


@pytest.mark.parametrize("event", ["Stop", "PostCompact", "SessionEnd"])
def test_an_agent_that_stops_is_told_nothing_the_human_is(hooks: ClaudeHooks, event: str) -> None:
    assert list(told(hooks, event)) == ["systemMessage"]


def test_a_hold_denies_with_the_reminder_as_reason_and_is_no_step(hooks: ClaudeHooks) -> None:
    hooks.events(payload("PreToolUse", **bash("make")))
    said = told(hooks, "PreToolUse", hold=True, **bash("make"))["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"].startswith(f"{HEADER} make failed")
    assert "additionalContext" not in said
    denied = [bash("make", tool_response="PreToolUse:Bash hook error: …")]
    assert hooks.events(payload("PostToolBatch", tool_calls=denied)) == []


def test_silence_is_nothing(hooks: ClaudeHooks) -> None:
    assert hooks.answer(payload("PostToolUse", **bash("make")), SILENT) == b""
