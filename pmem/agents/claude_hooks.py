"""Claude Code's hook payloads as events, and answers as its hooks may give them.

Found by running 2.1.332: PostToolUse fires for exit 0, or for an exit code that Claude takes for
an answer (`grep` without a match); PostToolUseFailure for the others. A call that was refused or
was malformed shows in PostToolBatch alone. The `cwd` of a Post event is the one after the call.
A call the user turned down by a key shows nowhere: it is told with the next event that can only
come after it. A prompt is no such event, since it may be queued while a command runs.
A hook's additionalContext stands in the next request; with PreToolUse, beside the call's result.
"""

from __future__ import annotations

import json
import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace
from typing import Any

from pmem.agents.claude_tools import COMMANDS, action, observation, plain
from pmem.agents.excerpt import excerpt, file_tail
from pmem.agents.human import human_text
from pmem.core.decision import to_agent
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

#: The events pmem listens to; those about one tool take a matcher.
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
EVENTS = (
    *TOOL_EVENTS,
    *("PostToolBatch", "UserPromptSubmit", "SessionStart", "PostCompact", "Stop", "SessionEnd"),
)
#: Events whose answer may carry text to the model. Stop is none: it would run on for ever.
CONTEXT_EVENTS = frozenset({*TOOL_EVENTS, "PostToolBatch", "UserPromptSubmit", "SessionStart"})
#: Calls remembered between their events, over all subagents.
MAX_CALLS = 512

_EXIT = re.compile(r"Exit code (\d+)(?:\n|$)")
_TASK = re.compile(r"<task-notification>.*</task-notification>", re.DOTALL)
_SUMMARY_EXIT = re.compile(r"\(exit code (-?\d+)\)|failed with exit code (-?\d+)")


#: One trajectory of one conversation (session_id, agent_id), and one call in it.
Lane = tuple[str | None, str | None]
Key = tuple[Lane, str | None]


@dataclass(frozen=True, slots=True)
class Call:
    """A call between its events: as it was proposed, and how it ended.

    `prompt` counts the user's prompts before it; `told` that its end was told, `held` that pmem
    put it back.
    """

    action: Action
    prompt: int = 0
    told: bool = False
    held: bool = False


class ClaudeHooks:
    """Reads one Claude Code's payloads; remembers what Post events leave out."""

    def __init__(self) -> None:
        self._calls: OrderedDict[Key, Call] = OrderedDict()
        self._background: OrderedDict[str, Action] = OrderedDict()
        self._prompts: Counter[Lane] = Counter()

    def events(self, payload: bytes) -> list[Event]:
        """The events in one payload. Raises ValueError if it is not a JSON object."""
        said = json.loads(payload)
        if not isinstance(said, dict):
            raise ValueError("a hook's payload must be a JSON object")
        agent = said.get("agent_id")
        match said.get("hook_event_name"):
            case "PreToolUse":
                turned_down = self._turned_down(_lane(said), self._prompts[_lane(said)])
                call = _proposed(said)
                self._remember(_key(said), Call(call, self._prompts[_lane(said)]))
                return [*turned_down, Proposed(call, agent)]
            case "PostToolUse":
                return [Observed(self._succeeded(said))]
            case "PostToolUseFailure":
                return [Observed(self._failed(said))]
            case "PostToolBatch":
                return [Observed(step) for step in self._rest_of_batch(said)]
            case "UserPromptSubmit":
                self._prompts[_lane(said)] += 1
                return self._prompt(str(said.get("prompt") or ""), agent)
            case "SessionStart":
                how = said.get("source")
                return [Started(how if how in ("resume", "clear", "compact") else "startup", agent)]
            case "PostCompact":
                summary = excerpt(str(said.get("compact_summary") or ""))
                what = "[the conversation was compacted; the agent goes on from this summary]"
                return [Observed(Step(0, "compaction", what, summary, agent_id=agent))]
            case "Stop":
                message = str(said.get("last_assistant_message") or "")
                turned_down = self._turned_down(_lane(said), self._prompts[_lane(said)] + 1)
                return [*turned_down, Finished(message, agent)]
            case "SessionEnd" if said.get("reason") not in ("clear", "resume"):
                return [Ended()]
        return []

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The hook's stdout: a line for the human, and for the model where the event allows."""
        if answer.reminder is None:
            return b""
        said = json.loads(payload)
        event = said.get("hook_event_name")
        told: dict[str, Any] = {"systemMessage": human_text(answer)}
        if event == "PreToolUse" and answer.hold:
            key = _key(said)
            self._remember(key, replace(self._calls.get(key, Call(_proposed(said))), held=True))
            told["hookSpecificOutput"] = {
                "hookEventName": event,
                "permissionDecision": "deny",
                "permissionDecisionReason": to_agent(answer.reminder),
            }
        elif event in CONTEXT_EVENTS:
            told["hookSpecificOutput"] = {
                "hookEventName": event,
                "additionalContext": to_agent(answer.reminder),
            }
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")

    # -- calls ------------------------------------------------------------------------------

    def _remember(self, key: Key, call: Call) -> None:
        self._calls[key] = call
        self._calls.move_to_end(key)
        if len(self._calls) > MAX_CALLS:
            self._calls.popitem(last=False)

    def _told(self, said: dict[str, Any]) -> Action:
        """The call as it was proposed, marked as told."""
        key = _key(said)
        call = self._calls.get(key)
        if call is None:
            call = Call(_proposed(said), self._prompts[_lane(said)])
        self._remember(key, replace(call, told=True))
        return call.action

    def _succeeded(self, said: dict[str, Any]) -> Step:
        call = self._told(said)
        given, response = _given(said), said.get("tool_response")
        step = _step(call, observation(call.tool, given, response), said)
        if call.tool not in COMMANDS or not isinstance(response, dict):
            return step
        task = response.get("backgroundTaskId")
        if task:
            self._background[str(task)] = call
            if len(self._background) > MAX_CALLS:
                self._background.popitem(last=False)
            # Not a command yet: whether it passes is told when it ends.
            what = f"{call.tool} (in the background) {call.text}"
            return replace(step, kind="tool", action=what)
        if response.get("interrupted"):
            return replace(step, refused=True)
        # Claude names the meaning where 1 is an answer: no match, files differ, condition false.
        answered = bool(response.get("returnCodeInterpretation"))
        return replace(step, exit_code=int(answered), is_error=False)

    def _failed(self, said: dict[str, Any]) -> Step:
        call = self._told(said)
        step = _with_exit(_step(call, "", said), plain(said.get("error")))
        return replace(step, refused=True) if said.get("is_interrupt") else step

    def _rest_of_batch(self, said: dict[str, Any]) -> list[Step]:
        """The calls whose end no event of their own told: refused or malformed ones."""
        steps = []
        calls = said.get("tool_calls")
        for one in calls if isinstance(calls, list) else []:
            if not isinstance(one, dict):
                continue
            one = {**said, **one}
            known = self._calls.get(_key(one))
            if known is not None and (known.told or known.held):
                continue
            call = self._told(one)
            step = _step(call, excerpt(plain(one.get("tool_response"))), one)
            steps.append(replace(step, refused=known is not None, is_error=True))
        return steps

    def _turned_down(self, lane: Lane, prompt: int) -> list[Event]:
        """The calls of earlier prompts than this one whose end nothing told."""
        events: list[Event] = []
        for key, call in self._calls.items():
            if key[0] == lane and call.prompt < prompt and not (call.told or call.held):
                self._calls[key] = replace(call, told=True)
                seen = "(no result: the user turned it down or interrupted it)"
                step = _step(call.action, seen, {"agent_id": lane[1]})
                events.append(Observed(replace(step, refused=True)))
        return events

    def _prompt(self, text: str, agent: str | None) -> list[Event]:
        """The user's words, or what Claude Code puts there when a background command ended."""
        if not _TASK.fullmatch(text.strip()):
            return [UserMessage(text, agent)]
        call = self._background.pop(_element(text, "task-id"), None)
        if call is None:
            return []
        summary = _element(text, "summary")
        exits = _SUMMARY_EXIT.search(summary)
        output = file_tail(_element(text, "output-file"))
        code = int(exits.group(1) or exits.group(2)) if exits else None
        step = Step(
            *(0, call.kind, call.text, excerpt(output) or summary, code, call.cwd),
            call_id=call.call_id,
            tool=call.tool,
            agent_id=agent,
            is_error=_element(text, "status") == "failed" or None,
            refused=_element(text, "status") in ("killed", "stopped"),
        )
        return [Observed(step)]


def _lane(said: dict[str, Any]) -> Lane:
    return said.get("session_id"), said.get("agent_id")


def _key(said: dict[str, Any]) -> Key:
    return _lane(said), said.get("tool_use_id")


def _given(said: dict[str, Any]) -> dict[str, Any]:
    given = said.get("tool_input")
    return given if isinstance(given, dict) else {}


def _proposed(said: dict[str, Any]) -> Action:
    tool = str(said.get("tool_name") or "")
    return action(tool, _given(said), said.get("cwd"), said.get("tool_use_id"))


def _step(call: Action, seen: str, said: dict[str, Any]) -> Step:
    took = said.get("duration_ms")
    return Step(
        *(0, call.kind, call.text, seen),
        cwd=call.cwd,
        seconds=took / 1000 if isinstance(took, (int, float)) else None,
        call_id=call.call_id,
        tool=call.tool,
        agent_id=said.get("agent_id"),
    )


def _with_exit(step: Step, error: str) -> Step:
    """A failed step; Claude puts `Exit code N` in front of a command's output."""
    found = _EXIT.match(error) if step.kind == "command" else None
    if found is None:
        return replace(step, observation=excerpt(error), is_error=True)
    seen = excerpt(error[found.end() :])
    return replace(step, observation=seen, exit_code=int(found.group(1)), is_error=True)


def _element(text: str, name: str) -> str:
    found = re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return found.group(1).strip() if found else ""
