"""The models on loopback that play the bundled task, as Terminus 2 and as mini-swe-agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from endpoint import Sent, openai_answer

REMINDER = "[MEMORY REMINDER]"
WRONG, RIGHT = "sh /app/build.sh", "COMPILER=tcc sh /app/build.sh"
WAIT = "sleep 0.1"
#: What the two print.
FAILED, MADE = "does not know target z9", "made the program for z9"
#: So often the actor does the same again without a reminder; then it gives up.
TRIES = 6

#: The memory agent: it keeps what the error says, and reminds of it.
MEMORY = {
    "replies": [
        {
            "phase": "manage",
            "contains": FAILED,
            "calls": [
                {
                    "name": "memory_save_knowledge",
                    "arguments": {"id": "compiler", "content": "build.sh needs COMPILER=tcc"},
                }
            ],
        },
        {
            "phase": "decide",
            "contains": FAILED,
            "text": '<context_for_action entries="compiler">build.sh needs COMPILER=tcc'
            "</context_for_action>",
        },
    ]
}


def plays(request: Any) -> Sent:
    """The actor: it takes the remembered way only where the reminder is in its request."""
    messages = request["messages"]
    acted = sum(m["role"] == "assistant" for m in messages)
    seen = "\n".join(_text(m) for m in messages if m["role"] != "assistant")
    over = MADE in seen or acted >= TRIES
    command = "" if over else RIGHT if REMINDER in seen else WRONG
    last = max((n for n, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
    if acted and not over and not any(FAILED in _text(m) for m in messages[last + 1 :]):
        command = WAIT  # the terminal of a busy machine does not show it yet
    if request.get("tools"):
        done = command or "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
        answer = openai_answer("I go on.", ("bash", json.dumps({"command": done})))
        answer.body["choices"][0]["message"]["tool_calls"][0]["id"] = f"call_{acted}"
        return answer
    if "<response>" in seen:
        return openai_answer(_xml(command))
    keys = [{"keystrokes": f"{command}\n", "duration": 0.6}] if command else []
    answer = {"analysis": "I see.", "plan": "I go on.", "commands": keys, "task_complete": over}
    return openai_answer(json.dumps(answer))


def reminded(requests: Sequence[Any]) -> list[bool]:
    """In which requests of an actor a reminder stood."""
    return [REMINDER in json.dumps(r["messages"]) for r in requests]


def _xml(command: str) -> str:
    keys = f'<keystrokes duration="0.6">{command}\n</keystrokes>' if command else ""
    over = "<task_complete>true</task_complete>" if not command else ""
    return (
        "<response><analysis>I see.</analysis><plan>I go on.</plan>"
        f"<commands>{keys}</commands>{over}</response>"
    )


def _text(message: Any) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)
