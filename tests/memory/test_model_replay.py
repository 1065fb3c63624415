"""Each arm over one recorded run with a scripted model: what the prompts hold, what is said."""

from __future__ import annotations

from typing import Any

import pytest

from pmem.evaluation.replay import Replayed, replay
from pmem.memory.arms import memory_agent
from pmem.models.protocol import Request
from pmem.models.scripted import ScriptedModel

HEADER = {
    "task": "Make the build pass.",
    "cwd": "/p",
    "context_files": [{"path": "AGENTS.md", "text": "Releases are cut from the branch stable."}],
}
STATUS = "half way through the plan"
FACT = {"id": "db", "content": "db.h comes from libdb-dev (step 2)."}
RELEASE = {
    "id": "release",
    "content": "AGENTS.md: releases are cut from stable; step 1 shows main.",
    "when": {"command": "make release*"},
}
TOLD = "The build of step 2 wants db.h, which comes from libdb-dev."
KEEPS = [
    {"name": "memory_update_status", "arguments": {"content": STATUS}},
    {"name": "memory_save_knowledge", "arguments": FACT},
    {"name": "memory_save_knowledge", "arguments": RELEASE},
]
REPLIES = [
    {"phase": "manage", "contains": "db.h: No such file", "calls": KEEPS},
    {"phase": "decide", "contains": "db.h: No such file",
     "text": f'<context_for_action entries="db">{TOLD}</context_for_action>'},
    {"phase": "decide", "contains": "db.h: No such file",
     "text": "<context_for_action>Look at the headers.</context_for_action>", "times": 0},
    {"text": "<no_intervention/>", "times": 0},
]  # fmt: skip


def lines() -> list[dict[str, Any]]:
    """A build that fails at step 2, quiet work, a release at step 30."""
    made: list[dict[str, Any]] = [
        {"step": 1, "kind": "command", "action": "ls", "observation": "Makefile", "exit_code": 0},
        {"step": 2, "kind": "command", "action": "make", "exit_code": 2,
         "observation": "fatal error: db.h: No such file"},
    ]  # fmt: skip
    for n in range(3, 30):
        made.append(
            {
                "step": n,
                "kind": "command",
                "action": f"touch f{n}",
                "observation": "",
                "exit_code": 0,
            }
        )
    release = "make release"
    made.append(
        {"step": 30, "kind": "command", "action": release, "observation": "", "exit_code": 0}
    )
    return made


def played(arm: str, *, pure: bool = False, **options: Any) -> tuple[ScriptedModel, Replayed]:
    model = ScriptedModel(REPLIES)
    agent = memory_agent(arm, model, pure=pure)
    assert agent is not None
    if pure:
        options["interval"] = 1
    return model, replay(HEADER, lines(), agent, **options)


def whole(request: Request) -> str:
    return "\n".join([request.system, *(m.text for m in request.messages)])


def test_selective_sees_the_bank_speaks_once_and_its_watch_fires_without_a_call() -> None:
    model, result = played("selective")
    model_said = [s for s in result.said if s.reminder.reason == "model"]
    assert [(s.before_step, s.reminder.text) for s in model_said] == [(3, TOLD)]
    [fired] = [s for s in result.said if s.reminder.reason == "watch:release"]
    assert fired.asked_at == 30
    asked = next(r for r in model.requests if r.phase == "manage" and "step 5:" in whole(r))
    assert f"| {FACT['content']}" in whole(asked) and f"| {STATUS}" in whole(asked)
    assert "[release] (watch armed:" in whole(asked)


@pytest.mark.parametrize("channel", ["claude", "codex", "gemini"])
def test_no_agent_s_hook_hears_a_watch_before_the_action_it_concerns(channel: str) -> None:
    _, result = played("selective", delivery=channel, hold="never")
    [fired] = [s for s in result.said if s.reminder.reason == "watch:release"]
    assert (fired.asked_at, fired.before_step, str(fired.delivery)) == (30, 31, "with_result")


def test_bank_tells_all_of_it_but_the_status() -> None:
    model, result = played("bank")
    assert all(r.phase == "manage" for r in model.requests)
    texts = [s.reminder.text for s in result.said]
    assert any(FACT["content"] in text for text in texts)
    assert all(STATUS not in text for text in texts)


def test_always_speaks_at_every_memory_step_and_cannot_be_silent() -> None:
    model, result = played("always")
    decided = [r for r in model.requests if r.phase == "decide"]
    assert all("no_intervention" not in r.messages[-1].text for r in decided)
    assert "Look at the headers." in [s.reminder.text for s in result.said]


def test_advisor_never_sees_a_bank() -> None:
    model, result = played("advisor")
    assert {r.phase for r in model.requests} == {"decide"}
    assert all("# Bank" not in whole(r) and STATUS not in whole(r) for r in model.requests)
    assert result.said


def test_pure_asks_after_every_step_in_two_calls_without_watches_and_rules() -> None:
    model, result = played("selective", pure=True)
    assert len(model.requests) >= 2 * len(lines())
    assert all(s.reminder.reason == "model" for s in result.said)
    tools = [t for r in model.requests for t in r.tools]
    assert tools and all("when" not in t.parameters["properties"] for t in tools)
    assert len({r.system for r in model.requests}) == 2


@pytest.mark.parametrize("arm", ["selective", "bank", "always", "advisor"])
def test_every_prompt_has_the_task_and_the_rule_files_first(arm: str) -> None:
    model, _ = played(arm)
    firsts = {r.messages[0].text for r in model.requests}
    assert len(firsts) == 1
    assert "Make the build pass." in firsts.copy().pop()
    assert "Releases are cut from the branch stable." in firsts.pop()
