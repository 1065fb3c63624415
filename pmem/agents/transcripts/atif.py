"""ATIF, Harbor's trajectory format (RFC 0001): tool calls with their observations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pmem.agents.transcripts.recorded import Recorded, Talk, call_step, exit_code, seconds
from pmem.core.json_text import table, tables
from pmem.core.step import Step

_EXITED = re.compile(r"exit(?:ed with)? code:? (-?\d+)", re.IGNORECASE)


def read(document: Mapping[str, Any], recorded: Recorded) -> None:
    """Fill `recorded` from a trajectory."""
    agent = table(document.get("agent"))
    recorded.header |= {"agent": agent.get("name"), "model": agent.get("model_name")}
    talk = Talk(recorded)
    for step in tables(document.get("steps")):
        at, message = seconds(step.get("timestamp")), _text(step.get("message"))
        if step.get("source") == "user":
            talk.ends()
            recorded.add(Step(0, "user", "", message, started=at))
        elif step.get("source") == "agent":
            talk.said(message or str(step.get("reasoning_content") or ""), at)
            _calls(step, talk, recorded, at)
    talk.ends()


def _calls(step: Mapping[str, Any], talk: Talk, recorded: Recorded, at: float | None) -> None:
    results = tables(table(step.get("observation")).get("results"))
    by_id = {str(r.get("source_call_id")): _text(r.get("content")) for r in results}
    calls = tables(step.get("tool_calls"))
    for number, call in enumerate(calls):
        id = call.get("tool_call_id")
        output = by_id.get(str(id))
        if output is None:  # some agents leave the ids out
            output = _text(results[number].get("content")) if number < len(results) else ""
        code = exit_code(table(call.get("extra")).get("exit_code"))
        exited = _EXITED.search(output[-200:]) or _EXITED.search(output[:200])
        recorded.add(
            call_step(
                str(call.get("function_name") or ""),
                call.get("arguments"),
                output,
                exit_code=code if code is not None or exited is None else int(exited[1]),
                started=at,
                call_id=str(id) if id else None,
                thought=talk.thought(),
                turn=exit_code(step.get("step_id")) if len(calls) > 1 else None,
            )
        )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in tables(content))
