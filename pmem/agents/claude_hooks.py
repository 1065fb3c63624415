"""Claude Code's hook payloads as events, and answers as its hooks may give them.

Found by running 2.1.332: PostToolUse fires for exit 0, or for an exit code that Claude takes for
an answer (`grep` without a match); PostToolUseFailure for the others. A call that was refused
with words or was malformed shows in PostToolBatch alone, one turned down by a key nowhere. The
`cwd` of a Post event is the one after the call. A hook's additionalContext stands in the next
request; with PreToolUse, beside the call's result.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pmem.agents import hook_json
from pmem.agents.calls import MAX_CALLS, Calls
from pmem.agents.claude_tools import COMMANDS, action, observation, plain
from pmem.agents.excerpt import excerpt, file_end
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

TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
#: The events pmem listens to, each with its matcher ("" for one that takes none). A plain start
#: is left out: it tells nothing, and would stand in front of everything in `stream-json`.
EVENTS = {
    **dict.fromkeys(TOOL_EVENTS, "*"),
    **dict.fromkeys(("PostToolBatch", "UserPromptSubmit", "Stop", "SessionEnd"), ""),
    **dict.fromkeys(("PreCompact", "PostCompact"), ""),
    "SessionStart": "resume|clear|compact",
}
#: Events whose answer may carry text to the model. Stop is none: it would run on for ever.
CONTEXT_EVENTS = frozenset({*TOOL_EVENTS, "PostToolBatch", "UserPromptSubmit", "SessionStart"})

_EXIT = re.compile(r"Exit code (\d+)(?:\n|$)")
_TASK = re.compile(r"<task-notification>.*</task-notification>", re.DOTALL)
_SUMMARY_EXIT = re.compile(r"exit code (-?\d+)")


class ClaudeHooks:
    """Reads one Claude Code's payloads; remembers what Post events leave out."""

    def __init__(self, *, imports: bool = True) -> None:
        self._calls = Calls()
        self._past = Past("claude_transcript" if imports else None)
        self._background: OrderedDict[str, Action] = OrderedDict()

    def events(self, payload: bytes) -> list[Event]:
        """The events in one payload. Raises ValueError if it is not a JSON object.

        The first one of a conversation that began without pmem tells its past as well.
        """
        said = hook_json.read(payload)
        past = self._past.of(said)
        if past and said.get("hook_event_name") != "SessionStart":
            return [Started("resume", None, past), *self._events(said)]
        return self._events(said, past)

    def _events(self, said: dict[str, Any], past: tuple[Step, ...] = ()) -> list[Event]:
        agent, lane = said.get("agent_id"), hook_json.lane(said)
        match said.get("hook_event_name"):
            case "PreToolUse":
                if self._is_past(said):
                    return []
                over = hook_json.given_up(self._calls, lane, turn_over=False)
                call = _proposed(said)
                self._calls.propose(hook_json.key(said), call)
                return [*over, Proposed(call, agent)]
            case "PostToolUse" | "PostToolUseFailure" if self._is_past(said):
                return []
            case "PostToolUse":
                return [Observed(self._succeeded(said))]
            case "PostToolUseFailure":
                return [Observed(self._failed(said))]
            case "PostToolBatch":
                return [Observed(step) for step in self._rest_of_batch(said)]
            case "UserPromptSubmit":
                self._calls.prompt(lane)
                return self._prompt(str(said.get("prompt") or ""), agent)
            case "SessionStart":
                how = said.get("source")
                known = ("resume", "clear", "compact")
                return [Started(how if how in known else "startup", agent, past)]
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
        """The hook's stdout, b"" for silence."""
        if answer.reminder is None:
            return b""
        said = hook_json.read(payload)
        if answer.hold and said.get("hook_event_name") == "PreToolUse":
            self._calls.hold(hook_json.key(said), _proposed(said))
        return hook_json.answer(said, answer, CONTEXT_EVENTS)

    def _is_past(self, said: Mapping[str, Any]) -> bool:
        """This call was told with the past: its own event comes late."""
        return self._past.holds(said.get("tool_use_id"))

    # -- calls ------------------------------------------------------------------------------

    def _ended(self, said: dict[str, Any]) -> Action:
        return self._calls.end(hook_json.key(said), _proposed(said))

    def _succeeded(self, said: dict[str, Any]) -> Step:
        call = self._ended(said)
        response = said.get("tool_response")
        seen = observation(call.tool, hook_json.tool_input(said), response)
        step = hook_json.step(call, seen, said)
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
        call = self._ended(said)
        step = _with_exit(hook_json.step(call, "", said), plain(said.get("error")))
        return replace(step, refused=True) if said.get("is_interrupt") else step

    def _rest_of_batch(self, said: dict[str, Any]) -> list[Step]:
        """The calls whose end no event of their own told: refused or malformed ones."""
        steps = []
        calls = said.get("tool_calls")
        for one in calls if isinstance(calls, list) else []:
            if not isinstance(one, dict):
                continue
            one = hook_json.settled({**said, **one})
            known = self._calls.get(hook_json.key(one))
            if known is not None and not known.open:
                continue
            seen = excerpt(plain(one.get("tool_response")))
            step = hook_json.step(self._ended(one), seen, one)
            steps.append(replace(step, refused=known is not None, is_error=True))
        return steps

    def _prompt(self, text: str, agent: str | None) -> list[Event]:
        """The user's words, or what Claude Code puts there when a background command ended."""
        if not _TASK.fullmatch(text.strip()):
            return [UserMessage(text, agent)]
        call = self._background.pop(_element(text, "task-id"), None)
        if call is None:
            return []
        summary, status = _element(text, "summary"), _element(text, "status")
        exits = _SUMMARY_EXIT.search(summary)
        seen = file_end(_element(text, "output-file")) or summary
        step = replace(
            hook_json.step(call, seen, {"agent_id": agent}),
            exit_code=int(exits.group(1)) if exits else None,
            is_error=True if status == "failed" else None,
            refused=status in ("killed", "stopped"),
        )
        return [Observed(step)]


def _proposed(said: dict[str, Any]) -> Action:
    tool = str(said.get("tool_name") or "")
    return action(tool, hook_json.tool_input(said), said.get("cwd"), said.get("tool_use_id"))


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
