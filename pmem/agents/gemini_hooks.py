"""Gemini CLI's hook payloads as events, and answers as its hooks may give them.

Found by running 0.61.0: calls have no id, and what an exit code leaves out is 0. Text added
before a tool runs is dropped, so it waits for that tool's result. A held call is told no more.
A resumption that comes in another minute than the chat was begun names a new, empty chat at
SessionStart; every later event names the one that goes on.
PreCompress comes before every request, long before anything is compressed: only the user's own
`/compress` is told here, and whether it came to anything is told nowhere.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmem.agents import hook_json, results
from pmem.agents.calls import Calls, Key, Lane, Names
from pmem.agents.claude_tools import plain
from pmem.agents.excerpt import excerpt
from pmem.agents.human import human_text
from pmem.agents.past import Past
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
    "BeforeTool": "*",
    "AfterTool": "*",
    "BeforeAgent": "",
    "AfterAgent": "",
    "PreCompress": "manual",
    "SessionStart": "",
    "SessionEnd": "",
}
#: Events whose answer reaches the model.
CONTEXT_EVENTS = frozenset({"AfterTool", "BeforeAgent", "SessionStart"})
SHELL = "run_shell_command"
EDITS = frozenset({"write_file", "replace"})
READS = frozenset(
    {
        *("read_file", "read_many_files", "list_directory", "glob", "grep_search"),
        *("search_file_content", "web_fetch", "google_web_search"),
    }
)
#: Characters kept of each side of a change and of a call's arguments.
MAX_CHANGE = 2000

_WRAPPED = re.compile(r"\A<untrusted_context>\n(.*?)\n?</untrusted_context>", re.DOTALL)
#: What hooks put in front of the user's words.
CONTEXT = re.compile(r"\A(?:<hook_context>.*?</hook_context>\s*)+", re.DOTALL)


class GeminiHooks:
    """Reads one Gemini CLI's payloads; keeps what has to wait for a call's result."""

    def __init__(self, *, imports: bool = True) -> None:
        self._calls = Calls()
        self._past = Past("gemini_transcript" if imports else None)
        self._names = Names()
        self._waiting: defaultdict[Lane, list[str]] = defaultdict(list)

    def events(self, payload: bytes) -> list[Event]:
        """The events in one payload. Raises ValueError if it is not a JSON object.

        The first one of a conversation that began without pmem tells its past as well.
        """
        said = hook_json.read(payload)
        past = self._past.of(said)
        self._names.known(past)
        if past and said.get("hook_event_name") != "SessionStart":
            return [Started("resume", None, past), *self._events(said)]
        return self._events(said, past)

    def _events(self, said: Mapping[str, Any], past: tuple[Step, ...] = ()) -> list[Event]:
        lane = hook_json.lane(said)
        match said.get("hook_event_name"):
            case "BeforeTool":
                over = hook_json.given_up(self._calls, lane, turn_over=False)
                call = _proposed(said)
                self._calls.propose(_key(said), call)
                return [*over, Proposed(call)]
            case "AfterTool":
                return [Observed(self._ended(said))]
            case "BeforeAgent":
                self._calls.prompt(lane)
                return [UserMessage(CONTEXT.sub("", str(said.get("prompt") or "")))]
            case "AfterAgent":
                message = str(said.get("prompt_response") or "")
                return [*hook_json.given_up(self._calls, lane, turn_over=True), Finished(message)]
            case "PreCompress" if said.get("trigger") == "manual":
                return [Compacting()]
            case "SessionStart":
                how = said.get("source")
                return [Started(how if how in ("resume", "clear") else "startup", None, past)]
            case "SessionEnd" if said.get("reason") not in ("clear", "resume"):
                return [Ended()]
        return []

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The hook's stdout; also for silence, when something waits for this result."""
        said = hook_json.read(payload)
        event, lane = str(said.get("hook_event_name")), hook_json.lane(said)
        told: dict[str, Any] = {}
        if answer.to_human:
            told["systemMessage"] = human_text(answer)
        if answer.to_agent:
            if answer.hold and event == "BeforeTool":
                self._calls.hold(_key(said), _proposed(said))
                told |= {"decision": "deny", "reason": answer.to_agent}
            elif event == "BeforeTool" or event in CONTEXT_EVENTS:
                self._waiting[lane].append(answer.to_agent)
        if event in CONTEXT_EVENTS and (waiting := self._waiting.pop(lane, None)):
            context = "\n\n".join(waiting)
            told["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace") if told else b""

    def _ended(self, said: Mapping[str, Any]) -> Step:
        call = self._calls.end(_key(said), _proposed(said))
        response = said.get("tool_response")
        response = response if isinstance(response, dict) else {}
        text = plain(response.get("llmContent"))
        wrapped = _WRAPPED.match(text)
        text = wrapped[1] if wrapped else text
        step = replace(
            hook_json.step(call, excerpt(text), said), call_id=self._names.name(_key(said))
        )
        if response.get("error"):
            return replace(step, is_error=True)
        return _ran(step, text) if call.kind == "command" else step


def _ran(step: Step, text: str) -> Step:
    """A command's step, with its output and exit code read from what the model gets."""
    ran = results.gemini(text)
    if ran is None:
        # Moved to the background, or cancelled: no attempt that passed or failed.
        return replace(step, kind="tool", action=f"{step.tool} {step.action}")
    return replace(step, observation=excerpt(ran.output), exit_code=ran.exit_code)


def _key(said: Mapping[str, Any]) -> Key:
    given = json.dumps(hook_json.tool_input(said), sort_keys=True)
    return hook_json.lane(said), f"{said.get('tool_name')} {given}"


def _proposed(said: Mapping[str, Any]) -> Action:
    tool, given = str(said.get("tool_name") or ""), hook_json.tool_input(said)
    cwd = said.get("cwd")
    if tool == SHELL:
        place = given.get("dir_path") or given.get("directory")
        if isinstance(place, str) and isinstance(cwd, str):
            cwd = os.path.normpath(os.path.join(cwd, place))  # noqa: PTH118 (no file is meant)
        return Action("command", str(given.get("command") or ""), cwd, tool)
    if tool in EDITS:
        lines = [f"{tool} {given.get('file_path', '')}"]
        if tool == "write_file":
            lines.append(excerpt(str(given.get("content") or ""), MAX_CHANGE))
        else:
            lines += ["--- old", excerpt(str(given.get("old_string") or ""), MAX_CHANGE)]
            lines += ["--- new", excerpt(str(given.get("new_string") or ""), MAX_CHANGE)]
        return Action("edit", "\n".join(lines), cwd, tool)
    kind = "read" if tool in READS else "tool"
    words = json.dumps(given, ensure_ascii=False)
    if tool == "read_file":
        words = str(given.get("file_path") or given.get("absolute_path") or "")
    return Action(kind, f"{tool} {excerpt(words, MAX_CHANGE)}", cwd, tool)
