"""`deliver`: who hears a reminder, and that the log says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rings import HOOK, SHELL, Kept, Recorder, ring, wants

from pmem.agents import registry
from pmem.core.bank import SaveKnowledge
from pmem.core.decision import HEADER, Delivery, Reminder
from pmem.core.event import SILENT, Answer
from pmem.session.outside import Channel
from pmem.session.server import banner

TOLD = "AGENTS.md:4: pushes go to the branch stable"
FOLLOW = Channel("follow")
#: The line that only a model is told, and the one that only a human is.
FOR_AGENT, FOR_HUMAN = "verify before relying on them", "more: pmem bank show"


def asked(deliver: str, channel: Channel) -> tuple[Answer, Kept]:
    """A sure reminder about a command that is about to run."""
    kept = Kept()
    kept.apply([SaveKnowledge("stable", TOLD)])
    said = Reminder(TOLD, ("stable",), "prohibition", "stable", sure=True)
    session = ring(Recorder(lambda moment: said), kept, deliver=deliver)
    return session.handle(wants("git push"), channel), kept


def test_for_the_agent_alone_there_is_no_banner() -> None:
    answer, kept = asked("agent", HOOK)
    assert TOLD in answer.to_agent and answer.hold
    assert not answer.to_human and banner(answer) is None
    record = kept.decisions[-1]
    assert (record["delivery"], record["audience"]) == ("before", "agent")


def test_for_the_human_alone_nothing_is_held_and_no_delivery_is_claimed() -> None:
    answer, kept = asked("human", HOOK)
    assert answer.to_agent == "" and not answer.hold and answer.delivery is None
    drawn = banner(answer)
    assert drawn is not None and drawn["text"] == TOLD
    record = kept.decisions[-1]
    assert (record["decision"], record["delivery"]) == ("remind", "none")
    assert (record["audience"], record["hold"]) == ("human", False)


@pytest.mark.parametrize("channel", [SHELL, FOLLOW])
def test_a_banner_is_for_people(channel: Channel) -> None:
    assert banner(asked("human", channel)[0]) is not None
    for deliver in ("agent", "none"):
        answer, kept = asked(deliver, channel)
        assert answer == SILENT
        assert (kept.decisions[-1]["decision"], kept.decisions[-1]["delivery"]) == (
            "remind",
            "none",
        )


def test_a_shell_holds_for_its_person() -> None:
    gate = Channel("shell", True, frozenset({"prohibition"}))
    answer, kept = asked("human", gate)
    assert answer.hold and answer.delivery is Delivery.BEFORE
    assert kept.decisions[-1]["delivery"] == "before"


def test_both_is_the_default() -> None:
    answer, kept = asked("both", HOOK)
    assert answer.to_agent and answer.to_human
    assert "audience" not in kept.decisions[-1]


def hook(event: str, **rest: Any) -> bytes:
    told = {"session_id": "s", "cwd": "/p", "hook_event_name": event, **rest}
    return json.dumps(told).encode()


BASH = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t"}
SHELL_CALL = {**BASH, "tool_name": "run_shell_command"}
COPILOT = {"sessionId": "s", "cwd": "/p", "toolName": "bash", "toolArgs": {"command": "make"}}
PLUGIN = {"session": "s", "cwd": "/p", "tool": "bash", "id": "c", "args": {"command": "make"}}
#: Of each agent a call before it runs and after.
PAYLOADS = {
    "claude": (hook("PreToolUse", **BASH), hook("PostToolUse", **BASH, tool_response={})),
    "codex": (hook("PreToolUse", **BASH), hook("PostToolUse", **BASH, tool_response="")),
    "gemini": (hook("BeforeTool", **SHELL_CALL), hook("AfterTool", **SHELL_CALL)),
    "qwen": (hook("PreToolUse", **SHELL_CALL), hook("PostToolUse", **SHELL_CALL)),
    "copilot": tuple(
        json.dumps({"event": event, "payload": COPILOT}).encode()
        for event in ("preToolUse", "postToolUse")
    ),
    **{
        name: tuple(json.dumps({"event": e, **PLUGIN}).encode() for e in ("proposed", "observed"))
        for name in ("opencode", "pi", "mini-swe-agent")
    },
}


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("audience", ["agent", "human", "both"])
def test_an_agent_s_hooks_print_what_is_for_whom(name: str, audience: Any) -> None:
    adapter = registry.get(name)
    assert adapter is not None
    reminder = Reminder(TOLD, ("stable",), "model", "stable")
    answer = Answer(reminder, delivery=Delivery.WITH_RESULT, audience=audience)
    printed = ""
    for payload, told in zip(PAYLOADS[name], (answer, SILENT), strict=True):
        adapter.events(payload)
        printed += adapter.answer(payload, told).decode()
    assert (FOR_AGENT in printed) == (audience != "human")
    if name not in ("qwen", "copilot"):  # their hooks show people nothing but a refusal
        assert (FOR_HUMAN in printed) == (audience != "agent")
    assert audience == "human" or HEADER in printed
