"""mini-swe-agent's trajectories (`-o FILE.traj.json`): messages, commands and return codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pmem.agents.transcripts.recorded import Recorded, Talk, exit_code, seconds
from pmem.core.json_text import table, tables
from pmem.core.step import Step


def read(document: Mapping[str, Any], recorded: Recorded) -> None:
    """Fill `recorded` from a trajectory."""
    talk = Talk(recorded)
    waiting: dict[str, tuple[str, str]] = {}
    for message in tables(document.get("messages")):
        role, extra = message.get("role"), table(message.get("extra"))
        content = _text(message.get("content"))
        if role == "assistant":
            talk.said(content)
            for action in tables(extra.get("actions")):
                command = str(action.get("command") or action)
                waiting[str(action.get("tool_call_id"))] = (command, talk.thought())
        elif "returncode" in extra and waiting:
            id = str(message.get("tool_call_id"))
            command, thought = waiting.pop(id if id in waiting else next(iter(waiting)))
            recorded.add(
                Step(
                    0,
                    "command",
                    command,
                    str(extra.get("raw_output") or content),
                    exit_code=exit_code(extra.get("returncode")),
                    started=seconds(extra.get("timestamp")),
                    thought=thought,
                )
            )
        elif role == "user" and "interrupt_type" not in extra:
            recorded.add(Step(0, "user", "", _task(content, document) or content))
    talk.ends()


def _task(content: str, document: Mapping[str, Any]) -> str:
    """The task, out of the template around it."""
    agent = table(table(table(document.get("info")).get("config")).get("agent"))
    template = str(agent.get("instance_template") or "")
    before, mark, after = template.partition("{{task}}")
    after = after.partition("{{")[0].partition("{%")[0].strip()
    if not mark or not content.startswith(before.strip()):
        return ""
    task = content[len(before.strip()) :]
    return task.partition(after)[0].strip() if after else task.strip()


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False) if content else ""
