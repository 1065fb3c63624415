"""Copilot CLI's hook payloads as events, and answers as its hooks may give them.

Found by running 1.0.102: a payload names neither its event nor its call, so pmem's hook line
wraps it in `{"event": NAME, "payload": …}`, and calls are told apart by their arguments. The exit
code stands in the text for the model, which counts as a success whatever it is.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmem.agents import hook_json
from pmem.agents.calls import Calls, Key, Lane, Names
from pmem.agents.excerpt import excerpt
from pmem.agents.past import Past
from pmem.agents.tool_calls import Tools
from pmem.core.event import (
    Answer,
    Ended,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.json_text import table
from pmem.core.step import Action, Step

#: The events pmem listens to.
EVENTS = (
    *("sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure"),
    *("agentStop", "sessionEnd"),
)
#: Events whose answer reaches the model. Before a tool runs, it waits for that tool's result.
CONTEXT_EVENTS = frozenset({"postToolUse", "postToolUseFailure", "userPromptSubmitted"})
TOOLS = Tools(
    commands={"bash", "powershell"},
    edits={"create", "edit", "str_replace_editor", "apply_patch"},
    reads={"view", "grep", "glob", "rg", "web_fetch", "web_search", "read_bash", "list_bash"},
)

_ENDED = re.compile(r"\n?<shellId: \S+ completed with exit code (-?\d+)>\s*\Z")
_REFUSED = re.compile(r"permission denied|denied by|rejected|user (?:declined|cancel)", re.I)


class CopilotHooks:
    """Reads one Copilot CLI's payloads; keeps what has to wait for a call's result."""

    def __init__(self, *, imports: bool = True) -> None:
        self._calls = Calls()
        self._names = Names()
        self._past = Past("copilot_transcript" if imports else None)
        self._waiting: defaultdict[Lane, list[str]] = defaultdict(list)

    def events(self, payload: bytes) -> list[Event]:
        """The events in one payload. Raises ValueError if it cannot be read.

        The first one of a conversation that began without pmem tells its past as well.
        """
        event, said = _read(payload)
        past = self._past.of(_opening(event, said))
        self._names.known(past)
        if past and event != "sessionStart":
            return [Started("resume", None, past), *self._events(event, said)]
        return self._events(event, said, past)

    def _events(
        self, event: str, said: Mapping[str, Any], past: tuple[Step, ...] = ()
    ) -> list[Event]:
        lane, agent = _lane(said), _agent(said)
        match event:
            case "preToolUse":
                over = hook_json.given_up(self._calls, lane, turn_over=False)
                call = _proposed(said)
                self._calls.propose(_key(said), call)
                return [*over, Proposed(call, agent)]
            case "postToolUse" | "postToolUseFailure":
                known = self._calls.get(_key(said))
                if known is not None and not known.open:
                    return []
                return [Observed(self._ended(said, failed=event != "postToolUse"))]
            case "userPromptSubmitted":
                self._calls.prompt(lane)
                return [UserMessage(str(said.get("prompt") or ""), agent)]
            case "sessionStart":
                how = said.get("source")
                return [Started("resume" if how == "resume" else "startup", agent, past)]
            case "agentStop":
                # Its closing words are in no payload, and not yet in the transcript.
                return [*hook_json.given_up(self._calls, lane, turn_over=True), Finished("", agent)]
            case "sessionEnd" if agent is None:
                return [Ended()]
        return []

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The hook's stdout; also for silence, when something waits for this result."""
        event, said = _read(payload)
        lane = _lane(said)
        if text := answer.to_agent:
            if answer.hold and event == "preToolUse":
                self._calls.hold(_key(said), _proposed(said))
                return _json({"permissionDecision": "deny", "permissionDecisionReason": text})
            if event == "preToolUse" or event in CONTEXT_EVENTS:
                self._waiting[lane].append(text)
        if event in CONTEXT_EVENTS and (waiting := self._waiting.pop(lane, None)):
            return _json({"additionalContext": "\n\n".join(waiting)})
        return b""

    def _ended(self, said: Mapping[str, Any], *, failed: bool) -> Step:
        call = self._calls.end(_key(said), _proposed(said))
        result = said.get("toolResult")
        result = result if isinstance(result, dict) else {}
        text = str(said.get("error") if failed else result.get("textResultForLlm") or "")
        step = hook_json.step(call, excerpt(text), {"agent_id": _agent(said)})
        step = replace(step, call_id=self._names.name(_key(said)))
        if failed:
            return replace(step, is_error=True, refused=bool(_REFUSED.search(text)))
        if call.kind != "command":
            return step
        ended = _ENDED.search(text)
        if ended is None:  # it runs on in the background: no attempt yet
            return replace(step, kind="tool", action=f"{step.tool} {step.action}")
        return replace(step, observation=excerpt(text[: ended.start()]), exit_code=int(ended[1]))


def _read(payload: bytes) -> tuple[str, dict[str, Any]]:
    """The event that pmem's hook line told, and the payload it carried along."""
    told = hook_json.read(payload)
    return str(told.get("event") or ""), hook_json.settled(table(told.get("payload")))


def _opening(event: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """What may be a conversation's first event, in the form of Claude Code's hooks."""
    from pmem.agents.copilot_transcript import transcript

    told = {"hook_event_name": event, "agent_id": _agent(said), "prompt": said.get("prompt")}
    session = str(said.get("sessionId") or "")
    return {**told, "session_id": session, "transcript_path": transcript(session)}


def _lane(said: Mapping[str, Any]) -> Lane:
    return said.get("sessionId"), _agent(said)


def _agent(said: Mapping[str, Any]) -> str | None:
    """The subagent an event is of, None for the agent itself."""
    agent = said.get("agentId")
    return str(agent) if agent else None


def _key(said: Mapping[str, Any]) -> Key:
    given = json.dumps(_arguments(said), sort_keys=True)
    return _lane(said), f"{said.get('toolName')} {given}"


def _proposed(said: Mapping[str, Any]) -> Action:
    return TOOLS.action(str(said.get("toolName") or ""), _arguments(said), said.get("cwd"), None)


def _arguments(said: Mapping[str, Any]) -> dict[str, Any]:
    given = said.get("toolArgs")
    return given if isinstance(given, dict) else {}


def _json(told: Mapping[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
