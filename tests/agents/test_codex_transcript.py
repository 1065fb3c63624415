"""A conversation of Codex read from its rollout, by shapes seen in 0.171.0."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.codex_hooks import CodexHooks
from pmem.agents.codex_transcript import find_transcript, turns
from pmem.agents.past import before
from pmem.core.event import Observed, Proposed, Started, UserMessage
from pmem.core.step import Step

CWD = "/home/kim/shop"


def began(cwd: str = CWD, **more: Any) -> dict[str, Any]:
    return {"type": "session_meta", "payload": {"cwd": cwd, "source": "cli", **more}}


def item(kind: str, **more: Any) -> dict[str, Any]:
    told = {"type": "item_completed", "item": {"type": kind, **more}}
    return {"timestamp": "2026-11-30T15:00:02Z", "type": "event_msg", "payload": told}


def said(text: str) -> dict[str, Any]:
    return item("UserMessage", id="u", content=[{"type": "text", "text": text}])


def ran(id: str, command: str, code: int, output: str = "", **more: Any) -> dict[str, Any]:
    words = ["/bin/bash", "-lc", command]
    took = {"secs": 1, "nanos": 500_000_000}
    told = {"command": words, "cwd": f"file://{CWD}", "exit_code": code, "duration": took}
    return item("CommandExecution", id=id, aggregated_output=output, **told, **more)


def write(path: Path, *lines: Any) -> str:
    text = [
        line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines
    ]
    path.write_text("\n".join(text) + "\n", "utf-8")
    return str(path)


def past(path: str) -> list[Step]:
    return before(turns(path))


@pytest.fixture
def rollout(tmp_path: Path) -> Path:
    return tmp_path / "rollout-1.jsonl"


def test_completed_items_become_steps_with_exit_codes_and_times(rollout: Path) -> None:
    steps = past(
        write(
            rollout,
            began(),
            said("make it build"),
            ran("1", "make build", 2, "main.c:3: error"),
            item("FileChange", id="2", changes={"/a.c": {}}, status="completed", stdout="Success."),
            ran("3", "rm -r x", 1, status="declined"),
            {"type": "compacted", "payload": {"message": "we built"}},
            item("AgentMessage", content=[{"type": "Text", "text": "It builds."}]),
            item("ContextCompaction", id="4"),
            '{"type":"event_msg","payload":{"type":"item_completed", torn',
        )
    )
    assert [(s.kind, s.action, s.exit_code, s.refused) for s in steps[1:4]] == [
        ("command", "make build", 2, False),
        ("edit", "apply_patch /a.c", None, False),
        ("command", "rm -r x", 1, True),
    ]
    assert [s.kind for s in steps] == ["user", "command", "edit", "command", "compaction"]
    build = steps[1]
    assert (build.observation, build.cwd, build.call_id) == ("main.c:3: error", CWD, "1")
    assert (build.seconds, build.started) == (1.5, 1796050800.5)
    assert steps[4].observation == "we built"


def test_without_items_there_is_no_past(rollout: Path) -> None:
    assert past(write(rollout)) == past(write(rollout, "nonsense", began())) == []
    assert past(str(rollout) + ".gone") == []


def test_a_directorys_newest_conversation_is_found_and_no_subagents(tmp_path: Path) -> None:
    place = tmp_path / ".codex" / "sessions" / "2026" / "11" / "30"
    place.mkdir(parents=True)
    subagent = {"subagent": {"thread_spawn": {"parent_thread_id": "1"}}}
    files = {
        "rollout-sub": [began(source=subagent)],
        "rollout-elsewhere": [began("/home/kim")],
        "rollout-unfinished": ['{"type":"session_meta","payload":{"cwd'],
        "rollout-new": [began()],
        "rollout-old": [began()],
    }
    for age, (name, lines) in enumerate(files.items()):
        write(place / f"{name}.jsonl", *lines)
        os.utime(place / f"{name}.jsonl", (1000 - age, 1000 - age))
    env = {"HOME": str(tmp_path)}
    assert find_transcript(CWD, env) == place / "rollout-new.jsonl"
    assert find_transcript("/home", env) is None
    write(place / "rollout-unfinished.jsonl", began())
    assert find_transcript(CWD, env) == place / "rollout-unfinished.jsonl"


def hook(event: str, transcript: str, **more: Any) -> bytes:
    told = {"session_id": "s", "transcript_path": transcript, "cwd": CWD, "hook_event_name": event}
    return json.dumps({**told, **more}).encode()


def test_a_resumed_conversation_tells_its_past_once(rollout: Path) -> None:
    path = write(rollout, began(), said("build"), ran("1", "make", 2))
    hooks = CodexHooks()
    [first] = hooks.events(hook("SessionStart", path, source="resume"))
    assert isinstance(first, Started) and first.how == "resume" and len(first.past) == 2
    assert hooks.events(hook("SessionStart", path, source="resume")) == [Started("resume")]
    assert hooks.events(hook("UserPromptSubmit", path, prompt="go on")) == [UserMessage("go on")]


def test_resumed_with_a_compaction_it_is_told_by_its_own_event_alone(rollout: Path) -> None:
    compacted = {"type": "compacted", "payload": {"message": "we built"}}
    path = write(rollout, began(), said("build"), ran("1", "make", 2), compacted)
    first, last = CodexHooks().events(hook("PostCompact", path))
    assert isinstance(first, Started) and [s.kind for s in first.past] == ["user", "command"]
    assert isinstance(last, Observed) and last.step.observation == "we built"


def test_joined_in_the_middle_the_past_comes_first_and_the_event_is_no_part_of_it(
    rollout: Path,
) -> None:
    path = write(rollout, began(), said("build"), ran("1", "make", 2), ran("2", "ls", 0))
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "2"}
    hooks = CodexHooks()
    first, ended = hooks.events(hook("PostToolUse", path, **call, tool_response="x"))
    assert isinstance(first, Started) and [s.call_id for s in first.past] == [None, "1"]
    assert isinstance(ended, Observed) and ended.step.call_id == "2"
    late = {**call, "tool_use_id": "1"}
    assert hooks.events(hook("PostToolUse", path, **late, tool_response="x")) == []


def test_a_subagents_first_event_tells_no_past_of_the_main_one(rollout: Path) -> None:
    path = write(rollout, began(), said("build"), ran("1", "make", 2))
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "2"}
    [proposed] = CodexHooks().events(hook("PreToolUse", path, **call, agent_id="sub"))
    assert isinstance(proposed, Proposed) and proposed.agent_id == "sub"
