"""Codex's hook payloads as events, and answers as its hooks may give them.

Found by running 0.171.0 in both of its tool modes: shell commands come as `Bash`, also those
that the model's JavaScript runs, and PostToolUse tells no exit code. A patch that could not be
applied, a call that was turned down and a held one have a PreToolUse only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmem.agents import codex_rollout, hook_json
from pmem.agents.calls import Calls
from pmem.agents.claude_tools import action, plain
from pmem.agents.excerpt import excerpt
from pmem.agents.past import Past
from pmem.core.event import (
    Answer,
    Compacting,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.step import Action, Step

#: The events pmem listens to, each with its matcher ("" for one that takes none).
EVENTS = {
    "PreToolUse": "*",
    "PostToolUse": "*",
    "UserPromptSubmit": "",
    "SessionStart": "resume|clear|compact",
    "PreCompact": "",
    "PostCompact": "",
    "Interrupt": "",
    "Stop": "",
}
#: Events whose answer may carry text to the model.
CONTEXT_EVENTS = frozenset({"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart"})
PATCH = "apply_patch"

_OUTPUT = re.compile(r"\AExit code: 0\n.*?^Output:\n", re.DOTALL | re.MULTILINE)


class CodexHooks:
    """Reads one Codex's payloads; remembers what was proposed."""

    def __init__(self) -> None:
        self._calls = Calls()
        self._past = Past("codex_transcript")

    def events(self, payload: bytes) -> list[Event]:
        """The events in one payload. Raises ValueError if it is not a JSON object.

        The first one of a conversation that began without pmem tells its past as well.
        """
        said = hook_json.read(payload)
        past = self._past.of(said)
        if past and said.get("hook_event_name") != "SessionStart":
            return [Started("resume", None, past), *self._events(said)]
        return self._events(said, past)

    def _events(self, said: Mapping[str, Any], past: tuple[Step, ...] = ()) -> list[Event]:
        agent = said.get("agent_id")
        match said.get("hook_event_name"):
            case "PreToolUse" | "PostToolUse" if self._past.holds(said.get("tool_use_id")):
                return []
            case "PreToolUse":
                over = self._given_up(said, turn_over=False)
                call = _proposed(said)
                self._calls.propose(hook_json.key(said), call)
                return [*over, Proposed(call, agent)]
            case "PostToolUse":
                return self._ended(said)
            case "UserPromptSubmit":
                self._calls.prompt(hook_json.lane(said))
                return [UserMessage(str(said.get("prompt") or ""), agent)]
            case "SessionStart":
                how = said.get("source")
                known = ("resume", "clear", "compact")
                return [Started(how if how in known else "startup", agent, past)]
            case "PreCompact":
                return [Compacting(agent)]
            case "PostCompact":
                seen = excerpt(codex_rollout.summary(_transcript(said)))
                return [Observed(hook_json.compaction(seen, agent))]
            case "Interrupt":
                return self._given_up(said, turn_over=True)
            case "Stop":
                message = str(said.get("last_assistant_message") or "")
                return [*self._given_up(said, turn_over=True), Finished(message, agent)]
        return []

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The hook's stdout, b"" for silence."""
        if answer.reminder is None:
            return b""
        said = hook_json.read(payload)
        if answer.hold and said.get("hook_event_name") == "PreToolUse":
            self._calls.hold(hook_json.key(said), _proposed(said))
        return hook_json.answer(said, answer, CONTEXT_EVENTS)

    def _ended(self, said: Mapping[str, Any]) -> list[Event]:
        key = hook_json.key(said)
        known = self._calls.get(key)
        if known is not None and known.told:  # ran on after it was given up for interrupted
            return []
        call = self._calls.end(key, _proposed(said))
        seen = plain(said.get("tool_response"))
        step = hook_json.step(call, excerpt(seen), said)
        if call.kind == "edit":
            return [
                Observed(replace(step, observation=excerpt(_OUTPUT.sub("", seen)), exit_code=0))
            ]
        if call.kind != "command":
            return [Observed(step)]
        ran = codex_rollout.execution(_transcript(said), call.call_id or "")
        if ran is None:
            return [Observed(step)]
        step = replace(
            step,
            observation=excerpt(ran.output or seen),
            exit_code=ran.exit_code,
            cwd=ran.cwd or step.cwd,
            seconds=ran.seconds,
        )
        return [Observed(step)]

    def _given_up(self, said: Mapping[str, Any], *, turn_over: bool) -> list[Event]:
        """The calls that will never be told, and the patches that failed.

        A patch never runs beside another call: with the next event it is over.
        """
        lane = hook_json.lane(said)
        failed = self._calls.close(lane, kind="edit")
        over = self._calls.give_up(lane, turn_over=turn_over)
        error = codex_rollout.patch_error(_transcript(said)) if failed else ""
        steps = [
            replace(hook_json.step(call, excerpt(error), {"agent_id": lane[1]}), is_error=True)
            for call in failed
        ]
        steps += [hook_json.turned_down(call, lane[1]) for call in over]
        return [Observed(step) for step in steps]


def _proposed(said: Mapping[str, Any]) -> Action:
    tool, given = str(said.get("tool_name") or ""), hook_json.tool_input(said)
    cwd, call_id = said.get("cwd"), said.get("tool_use_id")
    if tool == PATCH:
        return Action("edit", excerpt(str(given.get("command") or "")), cwd, tool, call_id)
    if tool == "view_image":
        return Action("read", f"{tool} {given.get('path', '')}", cwd, tool, call_id)
    return action(tool, given, cwd, call_id)


def _transcript(said: Mapping[str, Any]) -> str:
    return str(said.get("transcript_path") or "")
