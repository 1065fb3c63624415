"""Conversations of thirty turns in each wire format, as an agent sends them: whole each time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Item = dict[str, Any]
#: What fails alike each time.
OUTPUT = "main.c:3: fatal error: db.h: No such file or directory — 없음\nmake: *** [build] Error 1"
TASK = "make the build pass"


@dataclass(frozen=True)
class Spoken:
    """A format as tests speak it.

    `task` makes the user's first item, `acts` those of a command and of what it brought back,
    `about` is what stands before the conversation in a body, `path` where it is sent.
    """

    name: str
    path: str
    array: str
    about: dict[str, Any]
    task: Callable[[str], Item]
    acts: Callable[[int, str, str], list[Item]]

    def body(self, items: Sequence[Item]) -> bytes:
        """A request; the conversation stands last in it, as agents mostly have it."""
        whole = {**self.about, self.array: list(items)}
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()

    def talk(self, commands: Sequence[str], output: str = OUTPUT) -> Iterator[bytes]:
        """The requests of a conversation: one after the task, one after each command."""
        items = [self.task(TASK)]
        yield self.body(items)
        for number, command in enumerate(commands):
            items += self.acts(number, command, output)
            yield self.body(items)


def _anthropic(number: int, command: str, output: str) -> list[Item]:
    id = f"toolu_{number}"
    use = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    result = {"type": "tool_result", "tool_use_id": id, "content": f"Exit code 2\n{output}"}
    return [
        {"role": "assistant", "content": [thought, use]},
        {"role": "user", "content": [{**result, "is_error": True}]},
    ]


def _chat(number: int, command: str, output: str) -> list[Item]:
    id = f"call_{number}"
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    call = {"id": id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": f"Exit code: 2\nOutput:\n{output}"},
    ]


def _responses(number: int, command: str, output: str) -> list[Item]:
    id = f"call_{number}"
    code = f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}});\ntext(r);"
    call = {"type": "custom_tool_call", "call_id": id, "name": "exec", "input": code}
    told = json.dumps({"exit_code": 2, "output": output})
    head = "Script completed\nWall time 0.1 seconds\nOutput:\n"
    parts = [{"type": "input_text", "text": text} for text in (head, told)]
    return [
        {"type": "reasoning", "summary": [], "encrypted_content": "AAAA"},
        call,
        {"type": "custom_tool_call_output", "call_id": id, "output": parts},
    ]


def _gemini(number: int, command: str, output: str) -> list[Item]:
    call = {"name": "run_shell_command", "args": {"command": command}}
    told = {"output": f"Output: {output}\nExit Code: 2\nProcess Group PGID: {number}"}
    response = {"name": "run_shell_command", "response": told}
    return [
        {"role": "model", "parts": [{"functionCall": call, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"functionResponse": response}]},
    ]


ANTHROPIC = Spoken(
    "anthropic",
    "/v1/messages",
    "messages",
    {"model": "claude", "system": "Be brief.", "tools": [{"name": "Bash"}], "stream": True},
    lambda text: {"role": "user", "content": text},
    _anthropic,
)
CHAT = Spoken(
    "chat",
    "/v1/chat/completions",
    "messages",
    {"model": "m", "tools": [{"type": "function", "function": {"name": "bash"}}]},
    lambda text: {"role": "user", "content": text},
    _chat,
)
RESPONSES = Spoken(
    "responses",
    "/v1/responses",
    "input",
    {"model": "gpt", "tools": [{"type": "custom", "name": "exec"}], "store": False},
    lambda text: {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": text}],
    },
    _responses,
)
GEMINI = Spoken(
    "gemini",
    "/v1beta/models/g:streamGenerateContent",
    "contents",
    {"tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}]},
    lambda text: {"role": "user", "parts": [{"text": text}]},
    _gemini,
)
SPOKEN = (ANTHROPIC, CHAT, RESPONSES, GEMINI)


def shorter(body: bytes) -> bytes:
    """A request up to the end of its last item: what a later one must begin with."""
    assert body.endswith(b"]}")
    return body[:-2]
