"""The JSON that Claude Code's hooks introduced and other agents took over."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from pmem.agents.calls import Calls, Key, Lane
from pmem.agents.human import human_text
from pmem.core import json_text
from pmem.core.event import Answer, Event, Observed
from pmem.core.step import Action, Step

#: What stands for the result of a call that has none.
TURNED_DOWN = "(no result: the user turned it down or interrupted it)"

#: What a compaction is told as; its observation is the summary.
COMPACTED = "[the conversation was compacted; the agent goes on from this summary]"


#: What tells conversations, subagents and calls apart and says where they are, in each agent's own
#: words: a text, or nothing.
TEXTS = (
    *("session_id", "sessionId", "session", "agent_id", "agentId", "lane"),
    *("tool_use_id", "tool_call_id", "call_id", "id", "cwd", "transcript_path", "transcriptPath"),
)


def read(payload: bytes) -> dict[str, Any]:
    """A hook's payload; an id or a place in it that can be none is left out.

    Raises ValueError if it is not a JSON object.
    """
    said = json_text.loads(payload)
    if not isinstance(said, dict):
        raise ValueError("a hook's payload must be a JSON object")
    return settled(said)


def settled(said: dict[str, Any]) -> dict[str, Any]:
    """What was told, without ids and places that are no texts; a number becomes one."""
    odd = {name: said[name] for name in TEXTS if not isinstance(said.get(name), str | None)}
    if not odd:
        return said
    ids = {name: str(value) for name, value in odd.items() if type(value) is int}
    return {name: value for name, value in said.items() if name not in odd} | ids


def answer(said: Mapping[str, Any], given: Answer, context_events: Container[str]) -> bytes:
    """The hook's stdout: a line for the human, and for the model where the event allows it.

    `given` holds a reminder; what is not for one of them is left out.
    """
    event = said.get("hook_event_name")
    told: dict[str, Any] = {}
    if given.to_human:
        told["systemMessage"] = human_text(given)
    if event == "PreToolUse" and given.hold:
        told["hookSpecificOutput"] = {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": given.to_agent,
        }
    elif given.to_agent and event in context_events:
        told["hookSpecificOutput"] = {
            "hookEventName": event,
            "additionalContext": given.to_agent,
        }
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace") if told else b""


def lane(said: Mapping[str, Any]) -> Lane:
    """The trajectory an event belongs to."""
    return said.get("session_id"), said.get("agent_id")


def key(said: Mapping[str, Any]) -> Key:
    """The call an event tells of."""
    return lane(said), said.get("tool_use_id")


def tool_input(said: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the call."""
    given = said.get("tool_input")
    return given if isinstance(given, dict) else {}


def step(call: Action, seen: str, said: Mapping[str, Any]) -> Step:
    """A finished call as a step that says nothing yet of its success."""
    took = said.get("duration_ms")
    return Step(
        *(0, call.kind, call.text, seen),
        cwd=call.cwd,
        seconds=took / 1000 if isinstance(took, int | float) else None,
        call_id=call.call_id,
        tool=call.tool,
        agent_id=said.get("agent_id"),
    )


def turned_down(call: Action, agent_id: str | None) -> Step:
    """A call that the user kept from running, or from ending."""
    return replace(step(call, TURNED_DOWN, {"agent_id": agent_id}), refused=True)


def given_up(calls: Calls, lane: Lane, *, turn_over: bool) -> list[Event]:
    """The calls of a trajectory that nothing will tell of any more (see `Calls.give_up`)."""
    over = calls.give_up(lane, turn_over=turn_over)
    return [Observed(turned_down(call, lane[1])) for call in over]


def compaction(summary: str, agent_id: str | None) -> Step:
    """A conversation that goes on from a summary of itself."""
    return Step(0, "compaction", COMPACTED, summary, agent_id=agent_id)
