"""What the model proxy tells of any agent, as events; and its answer, the words for the model.

The proxy knows wire formats, not agents: here stands how agents name their tools and what they
make of a command's result before their model reads it.

    {"lane": null, "cwd": "/p", "events": [
      {"event": "resumed", "past": [events of kind user and observed]},
      {"event": "user", "text": "make the build pass"},
      {"event": "proposed", "id": "call_1", "tool": "bash", "given": {"command": "make"}},
      {"event": "observed", "id": "call_1", "tool": "bash", "given": {…}, "output": "…",
                            "failed": true},
      {"event": "compacted", "summary": "…"},
      {"event": "finished", "message": "done"}]}

`failed` is null where the wire does not tell. The answer is empty for silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pmem.agents import hook_json
from pmem.agents.excerpt import excerpt
from pmem.agents.generic import Generic
from pmem.agents.results import Ran, results
from pmem.agents.tool_calls import call, edit
from pmem.agents.transcripts.recorded import COMMAND_KEYS, EDITS, READS, unwrapped
from pmem.core.event import (
    Answer,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.json_text import tables
from pmem.core.step import Action, Step

#: Arguments that say where a command runs.
_DIRECTORIES = ("workdir", "cwd", "dir_path", "directory")


class Proxied(Generic):
    """Any agent, heard through the model proxy."""

    name = "pmem-proxy"
    title = "any agent, by the model proxy"

    def only_asks(self, args: Sequence[str]) -> bool:
        """Whether the program is only asked about itself with these arguments, or configured."""
        return False

    def events(self, payload: bytes) -> list[Event]:
        """The events in one payload. Raises ValueError if it is not a JSON object."""
        said = hook_json.read(payload)
        return [event for one in tables(said.get("events")) for event in _events(one, said)]

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The words for the model."""
        return answer.to_agent.encode("utf-8", "replace")


def _events(one: Mapping[str, Any], said: Mapping[str, Any]) -> Iterator[Event]:
    lane = said.get("lane")
    match one.get("event"):
        case "user":
            yield UserMessage(str(one.get("text") or ""), lane)
        case "proposed":
            yield from (Proposed(action, lane) for action in actions(one, said.get("cwd")))
        case "observed":
            yield from (Observed(step) for step in _steps(one, said))
        case "resumed":
            yield Started("resume", lane, tuple(_past(tables(one.get("past")), said)))
        case "compacted":
            summary = excerpt(str(one.get("summary") or ""))
            yield Observed(hook_json.compaction(summary, lane))
            yield Started("compact", lane)
        case "finished":
            yield Finished(str(one.get("message") or ""), lane)


def _past(past: Sequence[Mapping[str, Any]], said: Mapping[str, Any]) -> Iterator[Step]:
    for one in past:
        if one.get("event") == "user":
            yield Step(0, "user", "", str(one.get("text") or ""), agent_id=said.get("lane"))
        elif one.get("event") == "observed":
            yield from _steps(one, said)


def _steps(one: Mapping[str, Any], said: Mapping[str, Any]) -> list[Step]:
    """A call that came back, as a step; as several where it ran several commands."""
    done = actions(one, said.get("cwd"))
    failed = one.get("failed")
    failed = failed if isinstance(failed, bool) else None
    found = results(str(one.get("output") or ""), failed, len(done))
    if len(found) < len(done):  # told in one piece
        done = [replace(done[0], text="\n".join(a.text for a in done))]
    told = zip(done, found, strict=False)
    return [_step(action, ran, said.get("lane")) for action, ran in told]


def _step(action: Action, ran: Ran, lane: str | None) -> Step:
    is_command = action.kind == "command"
    return Step(
        *(0, action.kind, action.text, excerpt(ran.output if is_command else ran.told)),
        exit_code=ran.exit_code if is_command else None,
        cwd=action.cwd,
        call_id=action.call_id,
        tool=action.tool,
        is_error=ran.failed,
        agent_id=lane,
    )


def actions(one: Mapping[str, Any], cwd: str | None) -> list[Action]:
    """A call as actions: one, or as many as it runs commands."""
    from pmem.agents.code_mode import nested

    tool, given = str(one.get("tool") or ""), one.get("given")
    id = str(one.get("id") or "") or None
    if isinstance(given, str):
        inside = nested(given)
        if inside:
            return [
                action
                for name, arguments in inside
                for action in actions({"tool": name, "given": arguments, "id": id}, cwd)
            ]
        text = f"{tool} {excerpt(given, 2000)}".strip()
        return [Action("edit" if EDITS.search(tool) else "tool", text, cwd, tool, id)]
    arguments = given if isinstance(given, Mapping) else {}
    if not EDITS.search(tool):
        commands = _commands(arguments)
        if commands:
            place = _place(arguments, cwd)
            return [Action("command", command, place, tool, id) for command in commands]
        return [
            Action("read" if READS.search(tool) else "tool", call(tool, arguments), cwd, tool, id)
        ]
    return [Action("edit", edit(tool, arguments), cwd, tool, id)]


def _commands(given: Mapping[str, Any]) -> list[str]:
    for key in COMMAND_KEYS:
        told = given.get(key)
        if isinstance(told, Mapping):  # the shell tool of Responses: {"command": […]}
            return _commands(told)
        if isinstance(told, list) and told and all(isinstance(word, str) for word in told):
            return list(told) if key == "commands" else [unwrapped(told)]
        if isinstance(told, str) and told.strip():
            return [told.strip("\n")]
    return []


def _place(given: Mapping[str, Any], cwd: str | None) -> str | None:
    for key in _DIRECTORIES:
        place = given.get(key)
        if isinstance(place, str) and place:
            return os.path.normpath(os.path.join(cwd or "", place))  # noqa: PTH118
    return cwd


PROXIED = Proxied()
