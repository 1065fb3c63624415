"""The JSON in which pmem's own plug-ins speak: for agents that load code instead of running hooks.

A plug-in lives in its agent's process and sends one object over the session's socket for each of
these; `agent_id`, `session` and `cwd` may stand in each:

    {"event": "started", "how": "startup", "past": […]}    how: startup | resume | clear
    {"event": "user", "text": "make the build pass"}
    {"event": "proposed", "tool": "bash", "id": "call_1", "args": {"command": "make"}}
    {"event": "observed", "tool": "bash", "id": "call_1", "args": {…}, "output": "…",
                          "exit_code": 2, "is_error": true, "refused": false, "seconds": 0.2}
    {"event": "compacting"}                                before what was said is summed up
    {"event": "compacted", "summary": "…"}
    {"event": "finished", "message": "done"}
    {"event": "ended"}

`past` holds what was said and done in a conversation that is resumed, oldest first, as objects of
these forms with the time in seconds as `at`.

The answer is empty for silence, else {"reminder": as the agent reads it, "hold": true where the
proposed call is put back, "banner": plain lines for the human}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmem.agents import hook_json
from pmem.agents.calls import Calls, Key, Lane
from pmem.agents.excerpt import excerpt
from pmem.agents.human import human_text
from pmem.agents.past import LONGEST, Turn, before
from pmem.agents.tool_calls import Tools
from pmem.core.event import (
    Answer,
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


class PluginEvents:
    """Reads what one agent's plug-in sends; `tools` says which calls are commands, edits, looks."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._calls = Calls()

    def events(self, payload: bytes) -> list[Event]:
        """The events in one payload. Raises ValueError if it is not a JSON object."""
        said = hook_json.read(payload)
        agent, lane = said.get("agent_id"), _lane(said)
        match said.get("event"):
            case "started":
                how = said.get("how")
                ways = ("resume", "clear")
                return [Started(how if how in ways else "startup", agent, self._past(said))]
            case "user":
                self._calls.prompt(lane)
                return [UserMessage(str(said.get("text") or ""), agent)]
            case "proposed":
                over = hook_json.given_up(self._calls, lane, turn_over=False)
                call = self._proposed(said)
                self._calls.propose(_key(said), call)
                return [*over, Proposed(call, agent)]
            case "observed":
                known = self._calls.get(_key(said))
                return [] if known is not None and not known.open else [Observed(self._ended(said))]
            case "compacting":
                return [Compacting(agent)]
            case "compacted":
                summary = excerpt(str(said.get("summary") or ""))
                # What is said to it waits for the next request: the first one that needs it.
                return [Observed(hook_json.compaction(summary, agent)), Started("compact", agent)]
            case "finished":
                over = hook_json.given_up(self._calls, lane, turn_over=True)
                return [*over, Finished(str(said.get("message") or ""), agent)]
            case "ended":
                return [Ended()]
        return []

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The reminder as one JSON object, b"" for silence."""
        if answer.reminder is None:
            return b""
        said = hook_json.read(payload)
        if answer.hold:
            self._calls.hold(_key(said), self._proposed(said))
        told = {
            "reminder": answer.to_agent,
            "hold": answer.hold,
            "banner": human_text(answer),
        }
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")

    def _past(self, said: Mapping[str, Any]) -> tuple[Step, ...]:
        """The steps of a resumed conversation; what cannot be read is left out."""
        past = said.get("past")
        reader = PluginEvents(self._tools)
        turns: list[Turn] = []
        for one in past if isinstance(past, list) else []:
            if not isinstance(one, dict) or one.get("event") not in (
                "user",
                "observed",
                "compacted",
            ):
                continue
            told = json.dumps({"cwd": said.get("cwd"), **one}).encode()
            at = one.get("at") if isinstance(one.get("at"), int | float) else None
            for event in reader.events(told):
                if isinstance(event, Observed):
                    event = Observed(replace(event.step, started=at))
                turns.append((event, at))
        return tuple(before(turns)[-LONGEST:])

    def _proposed(self, said: Mapping[str, Any]) -> Action:
        given = said.get("args")
        given = given if isinstance(given, dict) else {}
        return self._tools.action(
            str(said.get("tool") or ""), given, said.get("cwd"), said.get("id")
        )

    def _ended(self, said: Mapping[str, Any]) -> Step:
        call = self._calls.end(_key(said), self._proposed(said))
        code, took, error = said.get("exit_code"), said.get("seconds"), said.get("is_error")
        step = hook_json.step(call, excerpt(str(said.get("output") or "")), said)
        return replace(
            step,
            exit_code=code if isinstance(code, int) and call.kind == "command" else None,
            is_error=error if isinstance(error, bool) else None,
            refused=said.get("refused") is True,
            seconds=took if isinstance(took, int | float) else None,
        )


def _lane(said: Mapping[str, Any]) -> Lane:
    return said.get("session"), said.get("agent_id")


def _key(said: Mapping[str, Any]) -> Key:
    return _lane(said), said.get("id")
