"""Past runs of every agent are read as the same neutral steps; broken lines are told by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.transcripts.here import find
from pmem.agents.transcripts.read import read
from pmem.core.step import Step

FAILED = "src/a.c:3: error: missing ;"


def jsonl(*lines: Any) -> str:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def claude(cwd: str = "/p") -> str:
    def line(kind: str, second: int, content: Any, **more: Any) -> dict[str, Any]:
        time = f"2026-01-02T03:04:{second:02}.000Z"
        message = {"role": kind, "content": content}
        return {
            "type": kind,
            "sessionId": "s",
            "cwd": cwd,
            "timestamp": time,
            "message": message,
            **more,
        }

    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sh build.sh"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "is_error": True,
        "content": f"Exit code 2\n{FAILED}",
    }
    return jsonl(
        {"type": "summary", "summary": "a build"},
        line("user", 1, "Make the build pass."),
        line("assistant", 2, [{"type": "text", "text": "Building."}]),
        line("assistant", 3, [call]),
        line("user", 4, [result], toolUseResult=f"Error: Exit code 2\n{FAILED}"),
        line("assistant", 5, [{"type": "text", "text": "It fails."}]),
    )


def codex(cwd: str = "/p") -> str:
    def item(second: int, **item: Any) -> dict[str, Any]:
        payload = {"type": "item_completed", "item": item}
        return {
            "timestamp": f"2026-01-02T03:04:{second:02}Z",
            "type": "event_msg",
            "payload": payload,
        }

    return jsonl(
        {"timestamp": "2026-01-02T03:04:00Z", "type": "session_meta", "payload": {"cwd": cwd}},
        item(1, type="UserMessage", content=[{"type": "text", "text": "Make the build pass."}]),
        item(2, type="AgentMessage", content=[{"type": "Text", "text": "Building."}]),
        item(
            3,
            type="CommandExecution",
            id="e1",
            command=["/bin/bash", "-lc", "sh build.sh"],
            cwd=f"file://{cwd}",
            exit_code=2,
            aggregated_output=FAILED,
            duration={"secs": 1, "nanos": 0},
        ),
        item(4, type="AgentMessage", content=[{"type": "Text", "text": "It fails."}]),
    )


def codex_before_items() -> str:
    def response(**payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-01-02T03:04:05Z", "type": "response_item", "payload": payload}

    def said(role: str, text: str) -> dict[str, Any]:
        return response(type="message", role=role, content=[{"type": "input_text", "text": text}])

    output = json.dumps({"output": FAILED, "metadata": {"exit_code": 2}})
    arguments = json.dumps({"command": ["bash", "-lc", "sh build.sh"]})
    return jsonl(
        {"type": "session_meta", "payload": {"cwd": "/p"}},
        said("user", "<environment_context>\n</environment_context>"),
        said("user", "Make the build pass."),
        response(type="function_call", name="shell", call_id="c1", arguments=arguments),
        response(type="function_call_output", call_id="c1", output=output),
        said("assistant", "It fails."),
    )


def gemini() -> str:
    printed = f"Exit Code: 7\n{FAILED}"  # the command's own words
    output = f"<untrusted_context>\nOutput: {printed}\nExit Code: 2\n</untrusted_context>"
    call = {
        "id": "g1",
        "name": "run_shell_command",
        "args": {"command": "sh build.sh"},
        "result": [{"functionResponse": {"response": {"output": output}}}],
        "status": "success",
    }
    asked = {"id": "m1", "type": "user", "content": [{"text": "Make the build pass."}]}
    answer = {"id": "m2", "type": "gemini", "content": "Building."}
    context = {"id": "m0", "type": "user", "content": [{"text": "<session_context>\nx"}]}
    return jsonl(
        {"sessionId": "s", "projectHash": "h", "kind": "main"},
        {"$set": {"messages": [context]}},
        asked,
        answer,
        {**answer, "toolCalls": [call]},
        {"id": "m3", "type": "gemini", "content": "It fails."},
    )


def mini() -> str:
    task = "Make the build pass."
    action = {"command": "sh build.sh", "tool_call_id": "c1"}
    return json.dumps(
        {
            "info": {"config": {"agent": {"instance_template": "Solve: {{task}}\n\nRules: x"}}},
            "messages": [
                {"role": "system", "content": "You are helpful."},
                {"role": "user", "content": f"Solve: {task}\n\nRules: x"},
                {"role": "assistant", "content": "Building.", "extra": {"actions": [action]}},
                {
                    "role": "tool",
                    "tool_call_id": "c1",
                    "content": "…",
                    "extra": {"returncode": 2, "raw_output": FAILED},
                },
                {"role": "assistant", "content": "It fails."},
            ],
        }
    )


def atif() -> str:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "sh build.sh"}}
    result = {"source_call_id": "c1", "content": f"{FAILED}\nexit code: 2"}
    return json.dumps(
        {
            "schema_version": "ATIF-v1.8",
            "agent": {"name": "terminus", "version": "2"},
            "steps": [
                {"step_id": 1, "source": "user", "message": "Make the build pass."},
                {
                    "step_id": 2,
                    "source": "agent",
                    "message": "Building.",
                    "tool_calls": [call],
                    "observation": {"results": [result]},
                },
                {"step_id": 3, "source": "agent", "message": "It fails."},
            ],
        }
    )


def neutral() -> str:
    steps = [
        Step(1, "user", "", "Make the build pass."),
        Step(2, "command", "sh build.sh", FAILED, exit_code=2),
        Step(3, "message", "It fails.", ""),
    ]
    return jsonl({"task": "Make the build pass.", "agent": "x"}, *(s.to_json() for s in steps))


FORMATS = {
    "Claude Code": claude,
    "Codex": codex,
    "Codex, older": codex_before_items,
    "Gemini CLI": gemini,
    "mini-swe-agent": mini,
    "ATIF": atif,
    "pmem": neutral,
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_is_read_as_task_command_and_answer(name: str, tmp_path: Path) -> None:
    file = tmp_path / "run"
    file.write_text(FORMATS[name]())
    recorded = read(file)
    assert recorded.format == name.split(",")[0]
    assert recorded.header["task"] == "Make the build pass."
    assert [step.kind for step in recorded.steps] == ["user", "command", "message"]
    assert [step.number for step in recorded.steps] == [1, 2, 3]
    command = recorded.steps[1]
    assert command.action == "sh build.sh"
    assert FAILED in command.observation
    assert command.exit_code == 2
    assert recorded.steps[2].action == "It fails."
    assert recorded.remarks == []


def test_aiders_history_tells_commands_edits_and_words(tmp_path: Path) -> None:
    file = tmp_path / ".aider.chat.history.md"
    file.write_text(
        "# aider chat started at 2026-01-02 03:04:05\n\n"
        "> Aider v0.86.2  \n"
        "#### Make the build pass.  \n\n"
        "I will add the semicolon.\n\n"
        "> Applied edit to src/a.c  \n"
        "> Running sh build.sh  \n"
        f"> {FAILED}  \n\n"
        "#### /run sh build.sh  \n"
        f"> {FAILED}  \n"
    )
    steps = read(file).steps
    assert [s.kind for s in steps] == ["user", "edit", "command", "command"]
    assert [s.action for s in steps[1:]] == ["edit src/a.c", "sh build.sh", "sh build.sh"]
    assert steps[2].observation == FAILED


@pytest.mark.parametrize("name", ["Claude Code", "Codex", "Gemini CLI", "pmem"])
def test_a_torn_line_is_told_by_its_number_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    whole = FORMATS[name]()
    file.write_text(whole + '{"type": "assist')
    recorded = read(file)
    assert len(recorded.steps) == 3
    assert recorded.remarks == [f"line {whole.count(chr(10)) + 1} is broken and was left out"]


def test_bytes_that_are_no_utf8_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_bytes(neutral().encode().replace(b"missing ;", b"missing \xff"))
    recorded = read(file)
    assert len(recorded.steps) == 3
    assert "line 3 is not UTF-8" in recorded.remarks[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is no recorded run"),
        ("hello\n", "it is no recorded run (line 1 is broken"),
        ("{}", "it is no recorded run"),
        ('{"task": "x"}\n', "it holds no step"),
        (claude()[:150], "it holds no step"),
    ],
)
def test_what_is_no_run_is_said_in_one_sentence(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(content)
    with pytest.raises(ValueError) as error:
        read(file)
    assert said in str(error.value)
    assert str(file) in str(error.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        read(tmp_path / "nothing")


def test_the_runs_of_a_directory_are_found_and_no_others(tmp_path: Path, home: Path) -> None:
    here = tmp_path / "my.app"
    here.mkdir()
    slug = str(here).replace("/", "-").replace(".", "-").replace("_", "-")
    wanted = {
        home / ".claude" / "projects" / slug / "s.jsonl": claude(str(here)),
        home / ".codex" / "sessions/2026/01/02/rollout-1.jsonl": codex(str(here)),
        here / ".aider.chat.history.md": "# aider chat started at 2026-01-02 03:04:05\n",
    }
    others = {
        home / ".claude" / "projects" / "-other" / "s.jsonl": claude("/other"),
        home / ".codex" / "sessions/2026/01/02/rollout-2.jsonl": codex("/other"),
    }
    for path, text in {**wanted, **others}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert set(find(here, {"HOME": str(home)})) == set(wanted)
