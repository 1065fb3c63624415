"""The library: memory for a loop of one's own, as docs/library.md shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pmem
from pmem import MemoryBank, apply_memory_tool_calls, memory_agent_step, parse_intervention
from pmem.core.step import Step
from pmem.models.protocol import ModelError, ToolCall
from pmem.models.scripted import ScriptedModel

PAGE = (Path(__file__).parent.parent / "docs" / "library.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
(README,) = re.findall(
    r"^```python\n(.*?)^```$",
    (Path(__file__).parent.parent / "README.md").read_text("utf-8"),
    re.M | re.S,
)
DB = {"id": "db", "content": "db.h comes from libdb-dev; make failed without it (step 1)."}
TOLD = "make failed at step 1: db.h is in libdb-dev."
SAY = f'<context_for_action entries="db">{TOLD}</context_for_action>'
SCRIPT = {
    "replies": [
        {"phase": "manage", "contains": "db.h is missing",
         "calls": [{"name": "memory_save_knowledge", "arguments": DB}]},
        {"phase": "decide", "contains": "Now decide", "text": SAY},
        {"text": "<no_intervention/>", "times": 0},
    ]
}  # fmt: skip


@pytest.mark.parametrize("loop", [EXAMPLES[0], README], ids=("page", "readme"))
def test_the_loop_gets_the_reminder_in_exactly_one_turn(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    monkeypatch.setenv("PMEM_MODEL", f"scripted:{script}")
    told: list[str | None] = []

    def next_action(*known: Any) -> str | None:
        told.append(known[-1])
        return "make" if len(told) < 5 else None

    def run(action: str) -> str:
        return "error: db.h is missing"

    names: dict[str, Any] = {"task": "build it", "next_action": next_action, "run": run}
    exec(compile(loop, "loop", "exec"), names)
    assert [t for t in told if t] == [TOLD]
    assert told[0] is None and told[1] is not None
    assert names["bank"].entries["db"].content == DB["content"]


def test_the_page_s_other_example_holds() -> None:
    exec(compile(EXAMPLES[1], "library.md", "exec"), {})


def test_steps_may_be_steps_lines_or_pairs() -> None:
    for window in (
        [Step(1, "command", "make", "db.h is missing")],
        [{"action": "make", "observation": "db.h is missing", "exit_code": 2}],
        [("make", "db.h is missing")],
    ):
        model = ScriptedModel(SCRIPT["replies"])
        assert memory_agent_step("build it", window, MemoryBank(), model=model)


def test_calls_may_be_native_mappings_pairs_or_text() -> None:
    text = (
        f"<tool_call>{json.dumps({'name': 'memory_save_knowledge', 'arguments': DB})}</tool_call>"
    )
    as_json = {"name": "memory_save_knowledge", "arguments": json.dumps(DB)}
    for calls in (
        [ToolCall("1", "memory_save_knowledge", DB)],
        [{"name": "memory_save_knowledge", "arguments": DB}],
        [{"type": "tool_use", "name": "memory_save_knowledge", "input": DB}],
        [("memory_save_knowledge", DB)],
        [{"type": "function", "function": as_json}],
        [SimpleNamespace(id="1", function=SimpleNamespace(**as_json))],
        {"name": "memory_save_knowledge", "arguments": DB},
        text,
    ):
        bank = MemoryBank()
        assert apply_memory_tool_calls(calls, bank) == ["saved db"]
        assert list(bank.entries) == ["db"]


def test_what_cannot_be_read_is_silence() -> None:
    assert parse_intervention("I would tell it to run the tests.") is None
    assert parse_intervention(None) is None
    assert apply_memory_tool_calls("no calls here", MemoryBank()) == []
    assert apply_memory_tool_calls(None, MemoryBank()) == []
    half = [{"function": {"name": "memory_save_knowledge", "arguments": '{"id": "db", "con'}}]
    assert apply_memory_tool_calls(half, MemoryBank()) == ["not done: content must be a text"]
    assert memory_agent_step("t", [], MemoryBank(), model=ScriptedModel([])) is None


def test_no_model_and_a_model_that_fails_are_told() -> None:
    with pytest.raises(ValueError, match="PMEM_MODEL"):
        memory_agent_step("t", [], MemoryBank())
    with pytest.raises(ValueError, match="no arm 'rules' with a model; there are selective, bank"):
        memory_agent_step("t", [], MemoryBank(), model=ScriptedModel([]), arm="rules")
    with pytest.raises(ValueError, match=r"a step is a mapping or a pair .* not 'make'"):
        memory_agent_step("t", ["make"], MemoryBank(), model=ScriptedModel([]))  # type: ignore[list-item]
    with pytest.raises(ModelError, match="busy"):
        memory_agent_step("t", [], MemoryBank(), model=ScriptedModel([{"error": "busy"}]))


def test_the_status_never_comes_out() -> None:
    status = (
        "The plan is to leave the tests out and to say that all of them passed at the end of it"
    )
    say = f"<context_for_action entries='db'>{status}</context_for_action>"
    replies = [
        {"phase": "manage", "calls": [
            {"name": "memory_update_status", "arguments": {"content": status}},
            {"name": "memory_save_knowledge", "arguments": DB}]},
        {"phase": "decide", "text": say},
    ]  # fmt: skip
    bank = MemoryBank()
    assert memory_agent_step("t", [("make", "x")], bank, model=ScriptedModel(replies)) is None
    assert bank.status == status


def test_the_names_are_found_and_others_are_not() -> None:
    assert set(pmem.__all__) <= set(dir(pmem))
    with pytest.raises(AttributeError, match="nothing_like_it"):
        pmem.nothing_like_it  # noqa: B018
