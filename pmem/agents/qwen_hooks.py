"""Qwen Code's hook payloads as events, and answers as its hooks may give them.

Found by running 0.24.4: the schema is Claude Code's; the text before a tool runs is dropped, so it
waits for that tool's result. The user is asked before PreToolUse: a call that was turned down, or
was malformed, shows in PostToolBatch alone. UserPromptSubmit fires once more before each call of
the model that follows a tool, without words of the user's.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmem.agents import hook_json
from pmem.agents.calls import Calls, Lane
from pmem.agents.claude_tools import plain
from pmem.agents.excerpt import excerpt
from pmem.agents.past import Past
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

#: The events pmem listens to, each with its matcher ("" for one that takes none).
EVENTS = {
    **dict.fromkeys(("PreToolUse", "PostToolUse", "PostToolUseFailure"), "*"),
    **dict.fromkeys(("PostToolBatch", "UserPromptSubmit", "SessionStart"), ""),
    **dict.fromkeys(("PreCompact", "PostCompact", "Stop", "SessionEnd"), ""),
}
#: Events whose answer reaches the model.
CONTEXT_EVENTS = frozenset(
    {"PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "SessionStart"}
)
TOOLS = Tools(
    commands={"run_shell_command"},
    edits={"edit", "write_file", "notebook_edit"},
    reads={
        *("read_file", "read_many_files", "list_directory", "glob", "grep_search"),
        *("web_fetch", "web_search", "tool_search"),
    },
    directory="directory",
)

_RAN = re.compile(
    r"^Directory: [^\n]*\nOutput: (?P<output>.*)\nError: (?P<error>.*?)\n"
    r"Exit Code: (?P<code>\d+|\(none\))\nSignal: (?P<signal>[^\n]*)",
    re.DOTALL | re.MULTILINE,
)


class QwenHooks:
    """Reads one Qwen Code's payloads; keeps what has to wait for a call's result."""

    def __init__(self, *, imports: bool = True) -> None:
        self._calls = Calls()
        self._past = Past("qwen_transcript" if imports else None)
        self._waiting: defaultdict[Lane, list[str]] = defaultdict(list)

    def events(self, payload: bytes) -> list[Event]:
        """The events in one payload. Raises ValueError if it is not a JSON object.

        The first one of a conversation that began without pmem tells its past as well.
        """
        said = _read(payload)
        past = self._past.of(said)
        if past and said.get("hook_event_name") != "SessionStart":
            return [Started("resume", None, past), *self._events(said)]
        return self._events(said, past)

    def _events(self, said: Mapping[str, Any], past: tuple[Step, ...] = ()) -> list[Event]:
        agent, lane = said.get("agent_id"), hook_json.lane(said)
        if self._past.holds(said.get("tool_use_id")):
            return []
        match said.get("hook_event_name"):
            case "PreToolUse":
                over = hook_json.given_up(self._calls, lane, turn_over=False)
                call = _proposed(said)
                self._calls.propose(hook_json.key(said), call)
                return [*over, Proposed(call, agent)]
            case "PostToolUse" | "PostToolUseFailure":
                known = self._calls.get(hook_json.key(said))
                return [] if known is not None and not known.open else [Observed(self._ended(said))]
            case "PostToolBatch":
                return [Observed(step) for step in self._rest_of_batch(said)]
            case "UserPromptSubmit":
                text = str(said.get("submitted_prompt") or said.get("prompt") or "")
                if not text.strip():
                    return []
                self._calls.prompt(lane)
                return [UserMessage(text, agent)]
            case "SessionStart":
                how = said.get("source")
                ways = ("resume", "clear", "compact")
                return [Started(how if how in ways else "startup", agent, past)]
            case "PreCompact":
                return [Compacting(agent)]
            case "PostCompact":
                summary = excerpt(str(said.get("compact_summary") or ""))
                return [Observed(hook_json.compaction(summary, agent))]
            case "Stop":
                message = str(said.get("last_assistant_message") or "")
                return [
                    *hook_json.given_up(self._calls, lane, turn_over=True),
                    Finished(message, agent),
                ]
            case "SessionEnd" if said.get("reason") not in ("clear", "resume"):
                return [Ended()]
        return []

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The hook's stdout; also for silence, when something waits for this result."""
        said = _read(payload)
        event, lane = str(said.get("hook_event_name")), hook_json.lane(said)
        if answer.to_agent and event == "PreToolUse":
            if answer.hold:
                self._calls.hold(hook_json.key(said), _proposed(said))
                return hook_json.answer(said, answer, CONTEXT_EVENTS)
            self._waiting[lane].append(answer.to_agent)
            return b""
        if event not in CONTEXT_EVENTS:
            return b""
        waiting = self._waiting.pop(lane, [])
        if answer.to_agent:
            waiting.append(answer.to_agent)
        if not waiting:
            return b""
        told = {"hookEventName": event, "additionalContext": "\n\n".join(waiting)}
        return json.dumps({"hookSpecificOutput": told}, ensure_ascii=False).encode(errors="replace")

    def _ended(self, said: Mapping[str, Any]) -> Step:
        call = self._calls.end(hook_json.key(said), _proposed(said))
        failed = said.get("hook_event_name") == "PostToolUseFailure"
        response = said.get("tool_response")
        content = response.get("llmContent") if isinstance(response, dict) else response
        text = plain(said.get("error") if failed else content)
        step = hook_json.step(call, excerpt(text), said)
        if said.get("is_interrupt"):
            return replace(step, refused=True)
        if call.kind == "command" and (ran := _RAN.search(text)) is not None:
            return _ran(step, ran)
        if call.kind == "command" and not failed:  # moved to the background: no attempt yet
            return replace(step, kind="tool", action=f"{step.tool} {step.action}")
        return replace(step, is_error=True if failed else None)

    def _rest_of_batch(self, said: Mapping[str, Any]) -> list[Step]:
        """The calls whose end no event of their own told: turned down or malformed ones."""
        steps = []
        calls = said.get("tool_calls")
        for one in calls if isinstance(calls, list) else []:
            if not isinstance(one, dict) or one.get("status") not in ("cancelled", "error"):
                continue
            one = hook_json.settled({**said, **one})
            one["tool_use_id"] = one.get("tool_call_id") or one.get("tool_use_id")
            known = self._calls.get(hook_json.key(one))
            if known is not None and not known.open:
                continue
            call = self._calls.end(hook_json.key(one), _proposed(one))
            step = hook_json.step(call, excerpt(_errors(one.get("tool_response"))), one)
            refused = one["status"] == "cancelled"
            steps.append(replace(step, refused=refused, is_error=None if refused else True))
        return steps


def _read(payload: bytes) -> dict[str, Any]:
    """The payload, its call known by the model's own id for it where that is told."""
    said = hook_json.read(payload)
    return {**said, "tool_use_id": said.get("tool_call_id") or said.get("tool_use_id")}


def _errors(response: Any) -> str:
    """What the model is told instead of a result."""
    parts = response.get("response_parts") if isinstance(response, dict) else None
    texts = []
    for part in parts if isinstance(parts, list) else []:
        match part:
            case {"functionResponse": {"response": {"error": str(error)}}}:
                texts.append(error)
    return "\n".join(texts)


def _ran(step: Step, ran: re.Match[str]) -> Step:
    """A command's step, with its output and exit code read from what the model gets."""
    parts = [ran["output"], ran["error"]]
    seen = "\n".join(part for part in parts if part not in ("", "(empty)", "(none)"))
    code, signal = ran["code"], re.match(r"\d+", ran["signal"])
    if signal is not None:
        code = str(128 + int(signal[0]))
    return replace(step, observation=excerpt(seen), exit_code=int(code) if code.isdigit() else None)


def _proposed(said: Mapping[str, Any]) -> Action:
    tool = str(said.get("tool_name") or "")
    return TOOLS.action(tool, hook_json.tool_input(said), said.get("cwd"), said.get("tool_use_id"))
