"""What a model's reply tells, streamed or whole, in each format."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from wires import ANTHROPIC, CHAT, GEMINI, RESPONSES, SPOKEN, Spoken

from pmem.proxy.formats import wire_of
from pmem.proxy.memory import uncompressed
from pmem.proxy.wire import Called, Words

EACH = pytest.mark.parametrize("spoken", SPOKEN, ids=lambda s: s.name)


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events)


REPLIES = {
    "anthropic": stream(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"text": "So"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t", "name": "Bash", "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"command":'}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ' "ls"}'}},
        {"type": "message_stop"},
    ),
    "chat": stream(
        {"choices": [{"index": 0, "delta": {"content": "So"}}]},
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {"index": 0, "id": "t", "function": {"name": "Bash", "arguments": ""}}
                        ]
                    },
                }
            ]
        },
        {
            "choices": [
                {
                    "delta": {
                        "tool_calls": [{"index": 0, "function": {"arguments": '{"command": "ls"}'}}]
                    },
                    "finish_reason": "tool_calls",
                }
            ]
        },
    )
    + b"data: [DONE]\n\n",
    "responses": stream(
        {
            "type": "response.output_item.done",
            "item": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "So"}],
            },
        },
        {
            "type": "response.output_item.done",
            "item": {
                "type": "function_call",
                "call_id": "t",
                "name": "Bash",
                "arguments": '{"command": "ls"}',
            },
        },
        {"type": "response.completed", "response": {"output": []}},
    ),
    "gemini": stream(
        {"candidates": [{"content": {"parts": [{"text": "So"}]}}]},
        {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {"functionCall": {"id": "t", "name": "Bash", "args": {"command": "ls"}}}
                        ]
                    },
                    "finishReason": "STOP",
                }
            ]
        },
    ),
}


@EACH
def test_a_streamed_reply_tells_what_the_model_said_and_proposed(spoken: Spoken) -> None:
    wire = wire_of(spoken.path)
    assert wire is not None
    entries = wire.reply(REPLIES[spoken.name], True)
    assert entries == [Words("So"), Called("t", "Bash", {"command": "ls"})]
    cut = REPLIES[spoken.name][: len(REPLIES[spoken.name]) // 2]
    assert wire.reply(cut, True) is None


def test_replies_in_one_piece() -> None:
    call = Called("t", "Bash", {"command": "ls"})
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    function = {"name": "Bash", "arguments": '{"command": "ls"}'}
    item = {"type": "function_call", "call_id": "t", **function}
    part = {"functionCall": {"id": "t", "name": "Bash", "args": {"command": "ls"}}}
    pairs = [
        (ANTHROPIC, {"content": [use]}),
        (CHAT, {"choices": [{"message": {"tool_calls": [{"id": "t", "function": function}]}}]}),
        (RESPONSES, {"output": [item]}),
        (GEMINI, {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}),
    ]
    for spoken, told in pairs:
        wire = wire_of(spoken.path)
        assert wire is not None
        assert wire.reply(json.dumps(told).encode(), False) == [call]


def test_a_packed_reply_is_unpacked_where_the_standard_library_can() -> None:
    assert uncompressed(gzip.compress(b"data"), "gzip") == b"data"
    assert uncompressed(b"data", "") == b"data"
    assert uncompressed(b"\x28\xb5\x2f\xfd", "zstd") is None
