"""A conversation of Copilot CLI read from its event file, by shapes seen in 1.0.102."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pmem.agents.copilot_hooks import CopilotHooks
from pmem.agents.copilot_transcript import transcript, turns
from pmem.agents.past import before
from pmem.core.event import Observed, Started, UserMessage
from pmem.core.step import Step

CWD = "/home/kim/shop"
MADE = {"command": "make"}
FAILED = {"content": "db.h is missing\n<shellId: 0 completed with exit code 2>"}
START = {"sessionId": "s", "context": {"cwd": CWD}}


def row(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": "2026-11-30T15:00:00.500Z", "data": data}


def made(id: str, **end: Any) -> list[dict[str, Any]]:
    begun = row("tool.execution_start", toolCallId=id, toolName="bash", arguments=MADE)
    return [begun, row("tool.execution_complete", toolCallId=id, **end)]


def written(path: Path, *lines: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(text) + "\n", "utf-8")
    return str(path)


def past(path: str) -> list[Step]:
    return before(turns(path))


def test_calls_become_steps_with_exit_codes(tmp_path: Path) -> None:
    refused = {"message": "permission denied by the user"}
    held = {"message": "Denied by preToolUse hook: [MEMORY REMINDER] …"}
    subagents = {**made("9", success=True, result=FAILED)[1], "agentId": "sub"}
    steps = past(
        written(
            tmp_path / "events.jsonl",
            row("session.start", **START),
            row("user.message", content="build it", transformedContent="<x/>build it"),
            *(*made("1", success=True, result=FAILED), *made("2", success=True, result=FAILED)),
            *(*made("3", success=False, error=refused), *made("4", success=False, error=held)),
            *(subagents, made("5")[0], '{"type":"tool', "[1]"),
        )
    )
    assert [(s.kind, s.action, s.exit_code, s.refused, s.cwd) for s in steps] == [
        ("user", "", None, False, None),
        ("command", "make", 2, False, CWD),
        ("command", "make", 2, False, CWD),
        ("command", "make", None, True, CWD),
    ]
    assert (steps[1].observation, steps[1].started) == ("db.h is missing", 1796050800.5)
    assert past(str(tmp_path / "gone")) == []


def test_a_resumed_conversation_tells_its_past_once_and_counts_on(home: Path) -> None:
    calls = [*made("1", success=True, result=FAILED), *made("2", success=True, result=FAILED)]
    written(Path(transcript("s")), row("session.start", **START), *calls)
    hooks = CopilotHooks()

    def told(event: str, **more: Any) -> Any:
        said = {"sessionId": "s", "cwd": CWD, **more}
        return hooks.events(json.dumps({"event": event, "payload": said}).encode())

    [began] = told("sessionStart", source="resume")
    assert isinstance(began, Started) and len(began.past) == 2
    assert told("sessionStart", source="resume") == [Started("resume")]
    assert told("userPromptSubmitted", prompt="go on") == [UserMessage("go on")]
    answer = {"textResultForLlm": FAILED["content"]}
    [third] = told("postToolUse", toolName="bash", toolArgs=MADE, toolResult=answer)
    assert isinstance(third, Observed)
    ids = [str(step.call_id) for step in (*began.past, third.step)]
    assert [id.rpartition(":")[2] for id in ids] == ["1", "2", "3"]
