"""The adapter of the package's own scripted agent, which plays the demo and the tests.

Its native events are neutral JSON. Whoever plays the agent pipes one event into the shell line
in the environment variable PMEM_HOOK (`/bin/sh -c "$PMEM_HOOK"`) and reads the answer from its
stdout. One object a call, UTF-8; `agent_id` (a string) may stand in each:

    {"event": "started", "how": "startup"}          how: startup | resume | clear | compact
    {"event": "user", "text": "make the build pass"}
    {"event": "proposed", "action": {"kind": "command", "text": "make", "cwd": "/abs"}}
    {"event": "observed", "step": {"kind": "command", "action": "make", "observation": "…",
                                   "exit_code": 2, "cwd": "/abs", "seconds": 0.2}}
    {"event": "finished", "message": "done"}
    {"event": "ended"}

`action` takes `kind` and `text`, optionally `cwd`, `tool`, `call_id`; `step` is the neutral line
of `pmem.core.step` (its number may be left out: the session numbers steps).

The answer is empty for silence, else one object:

    {"reminder": "[MEMORY REMINDER] …",   as the agent reads it, headed
     "hold": false,                        true: the proposed action is put back, once
     "delivery": "with_result",            before | with_result | late | null
     "banner": "…",                        plain lines for the human, headed
     "citations": [{"id": "make", "content": "…", "steps": [1, 2]}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.agents import hook_json
from pmem.agents.human import human_text
from pmem.agents.protocol import HookLine, Launch
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
from pmem.core.step import Action, Step


class ScriptedAgent:
    """A program that tells its steps in neutral JSON and reads reminders as JSON."""

    name = "scripted"
    title = "Scripted agent"
    binary = "pmem-scripted-agent"
    tells = True
    can_hold = True
    shows = True

    def find(self, env: Mapping[str, str]) -> Path | None:
        """Never installed by itself: it is part of the package."""
        return None

    def launch(
        self,
        program: str,
        args: Sequence[str],
        hook: HookLine,
        run_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Launch:
        """The program as it is, told by PMEM_HOOK how to reach the session."""
        return Launch([program, *args], {"PMEM_HOOK": hook.command})

    def events(self, payload: bytes) -> list[Event]:
        """The one event in a payload."""
        return [_event(hook_json.read(payload))]

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The reminder as one JSON object, nothing for silence."""
        if answer.reminder is None:
            return b""
        told = {
            "reminder": answer.to_agent,
            "hold": answer.hold,
            "delivery": answer.delivery,
            "banner": human_text(answer),
            "citations": [
                {"id": c.id, "content": c.content, "steps": list(c.steps)} for c in answer.citations
            ],
        }
        return json.dumps(told, ensure_ascii=False).encode() + b"\n"


def _event(said: Mapping[str, Any]) -> Event:
    agent_id = said.get("agent_id")
    match said.get("event"):
        case "started":
            return Started(said.get("how", "startup"), agent_id)
        case "user":
            return UserMessage(str(said.get("text", "")), agent_id)
        case "proposed":
            return Proposed(_action(said.get("action")), agent_id)
        case "observed":
            return Observed(_step(said.get("step"), agent_id))
        case "finished":
            return Finished(str(said.get("message", "")), agent_id)
        case "ended":
            return Ended()
    raise ValueError(f"unknown event {said.get('event')!r}")


def _action(said: Any) -> Action:
    if not isinstance(said, dict) or not all(
        isinstance(said.get(k), str) for k in ("kind", "text")
    ):
        raise ValueError("'action' needs the strings 'kind' and 'text'")
    said = hook_json.settled(said)
    tool = str(said.get("tool") or "")
    return Action(said["kind"], said["text"], said.get("cwd"), tool, said.get("call_id"))


def _step(said: Any, agent_id: str | None) -> Step:
    if not isinstance(said, dict):
        raise ValueError("'step' must be an object")
    line = {"step": 0, **said}
    if agent_id is not None:
        line.setdefault("agent_id", agent_id)
    return Step.from_json({**line, "step": 0})


SCRIPTED = ScriptedAgent()
