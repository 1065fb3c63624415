"""A model server that plays a script: what `pmem doctor` puts an agent in front of.

On loopback only, and only as long as a check runs. It speaks the four forms the known agents
speak, and asks for one shell command after the other; how far the play is stands in the request
itself, in the number of tool results, so a retry gets the same answer.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: What a request without a shell tool is answered: a title, a summary, a question of the agent's.
ASIDE = "ok"
FINISHED = "The check is over."
SHELLS = ("Bash", "bash", "shell_command", "exec_command", "shell", "run_shell_command")
Json = Mapping[str, Any]


class PlayModel:
    """The server, from entering the `with` to leaving it. `asked` are the agent's own requests."""

    def __init__(self, commands: Sequence[str]) -> None:
        self.commands = commands
        self.asked: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> PlayModel:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next_command(self, body: dict[str, Any], done: int) -> str | None:
        """The next command of the play after `done` of them, None at its end."""
        self.asked.append(body)
        return self.commands[done] if done < len(self.commands) else None


def answer(play: PlayModel, path: str, body: dict[str, Any]) -> tuple[list[Any], bool]:
    """The reply to one request, as server-sent events or (False) one JSON object.

    Raises LookupError for a path that no agent asks.
    """
    if path.endswith(("/count_tokens", ":countTokens")):
        return [{"input_tokens": 100, "totalTokens": 100}], False
    for suffix, form in (
        ("/messages", _anthropic),
        ("/chat/completions", _chat),
        ("/responses", _responses),
        (":streamGenerateContent", _gemini),
        (":generateContent", _gemini),
    ):
        if path.endswith(suffix):
            stream = bool(body.get("stream")) or "stream" in suffix
            return form(play, body, stream), stream
    raise LookupError(path)


def _call(name: str, schema: Json, command: str) -> dict[str, Any]:
    """The arguments of a shell tool, whatever it calls them."""
    known = schema.get("properties") or {}
    key = next((k for k in ("command", "cmd") if k in known), "command")
    listed = (known.get(key) or {}).get("type") == "array"
    given: dict[str, Any] = {key: ["bash", "-lc", command] if listed else command}
    for name in schema.get("required") or ():
        given.setdefault(name, _any(known.get(name) or {}))
    return given


def _any(schema: Json) -> Any:
    values = {"boolean": False, "number": 30000, "integer": 30000, "array": [], "object": {}}
    return values.get(str(schema.get("type")), "a check of pmem doctor")


def _shell(tools: Mapping[str, Json]) -> str | None:
    return next((name for name in SHELLS if name in tools), None)


def _blocks(messages: Any, kind: str) -> int:
    contents = [m.get("content") for m in messages or () if isinstance(m, dict)]
    return sum(
        isinstance(block, dict) and block.get("type") == kind
        for content in contents
        if isinstance(content, list)
        for block in content
    )


def _anthropic(play: PlayModel, body: dict[str, Any], stream: bool) -> list[Any]:
    tools = {str(t.get("name")): t.get("input_schema") or {} for t in body.get("tools") or ()}
    shell, done = _shell(tools), _blocks(body.get("messages"), "tool_result")
    command = play.next_command(body, done) if shell else None
    block: dict[str, Any]
    if shell and command is not None:
        given = _call(shell, tools[shell], command)
        block = {"type": "tool_use", "id": f"toolu_{done:04d}", "name": shell, "input": given}
        empty: dict[str, Any] = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    else:
        block = {"type": "text", "text": FINISHED if shell else ASIDE}
        empty = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
    message = {
        **{"id": f"msg_{done:04d}", "type": "message", "role": "assistant"},
        **{"model": body.get("model", "play"), "content": [block]},
        **{"stop_reason": stop, "stop_sequence": None},
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }
    if not stream:
        return [message]
    began = {**message, "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": began},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 10},
        },
        {"type": "message_stop"},
    ]


def _chat(play: PlayModel, body: dict[str, Any], stream: bool) -> list[Any]:
    functions = [t.get("function") or t for t in body.get("tools") or ()]
    tools = {str(f.get("name")): f.get("parameters") or {} for f in functions}
    shell = _shell(tools)
    done = sum(m.get("role") == "tool" for m in body.get("messages") or ())
    command = play.next_command(body, done) if shell else None
    said: dict[str, Any] = {"role": "assistant", "content": FINISHED if shell else ASIDE}
    if shell and command is not None:
        function = {"name": shell, "arguments": json.dumps(_call(shell, tools[shell], command))}
        call = {"index": 0, "id": f"call_{done:04d}", "type": "function", "function": function}
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
    ended = "tool_calls" if "tool_calls" in said else "stop"
    about = {"id": f"chat-{done}", "created": 0, "model": body.get("model", "play")}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    if not stream:
        whole = [{"index": 0, "message": said, "finish_reason": ended}]
        return [{**about, "object": "chat.completion", "choices": whole, "usage": usage}]
    part = {**about, "object": "chat.completion.chunk"}
    return [
        {**part, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        {**part, "choices": [{"index": 0, "delta": {}, "finish_reason": ended}]},
        {**part, "choices": [], "usage": usage},
        "[DONE]",
    ]


def _responses(play: PlayModel, body: dict[str, Any], stream: bool) -> list[Any]:
    given = [i for i in body.get("input") or () if isinstance(i, dict)]
    tools = {
        str(t.get("name")): t.get("parameters") or {}
        for t in body.get("tools") or ()
        if t.get("type") == "function"
    }
    shell = _shell(tools)
    done = sum(str(i.get("type")).endswith("_call_output") for i in given)
    command = play.next_command(body, done) if shell else None
    item: dict[str, Any]
    if shell and command is not None:
        words = json.dumps(_call(shell, tools[shell], command))
        item = {"type": "function_call", "id": f"fc_{done}", "call_id": f"call_{done:04d}"}
        item |= {"name": shell, "arguments": words, "status": "completed"}
    else:
        text = {"type": "output_text", "text": FINISHED if shell else ASIDE, "annotations": []}
        item = {"type": "message", "id": f"msg_{done}", "role": "assistant", "content": [text]}
        item["status"] = "completed"
    usage = {
        **{"input_tokens": 10, "output_tokens": 10, "total_tokens": 20},
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    whole = {
        **{"id": f"resp_{done}", "object": "response", "created_at": 0, "status": "completed"},
        **{"model": body.get("model", "play"), "output": [item], "usage": usage, "error": None},
    }
    if not stream:
        return [whole]
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    return [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]


def _gemini(play: PlayModel, body: dict[str, Any], stream: bool) -> list[Any]:
    declared = [f for t in body.get("tools") or () for f in t.get("functionDeclarations") or ()]
    tools = {
        str(f.get("name")): f.get("parameters") or f.get("parametersJsonSchema") or {}
        for f in declared
    }
    shell = _shell(tools)
    parts = [p for c in body.get("contents") or () for p in c.get("parts") or ()]
    done = sum("functionResponse" in part for part in parts)
    command = play.next_command(body, done) if shell else None
    part: dict[str, Any] = {"text": FINISHED if shell else ASIDE}
    if shell and command is not None:
        part = {"functionCall": {"name": shell, "args": _call(shell, tools[shell], command)}}
    content = {"role": "model", "parts": [part]}
    counted = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    reply = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
    return [{**reply, "usageMetadata": counted, "modelVersion": "play"}]


def _handler(play: PlayModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            models = [{"id": "play", "object": "model", "created": 0, "owned_by": "pmem"}]
            found = self.path.partition("?")[0].endswith("/models")
            told = {"object": "list", "data": models} if found else {"error": "not here"}
            self._send(json.dumps(told).encode(), "application/json", 200 if found else 404)

        do_HEAD = do_GET

        def do_POST(self) -> None:
            raw = b"".join(self._body())
            with contextlib.suppress(ValueError, LookupError, AttributeError, OSError):
                if self.headers.get("content-encoding") == "gzip":
                    import gzip

                    raw = gzip.decompress(raw)
                reply, stream = answer(play, self.path.partition("?")[0], json.loads(raw or b"{}"))
                if stream:
                    text = "".join(map(_event, reply))
                    self._send(text.encode(), "text/event-stream", 200)
                else:
                    self._send(json.dumps(reply[0]).encode(), "application/json", 200)
                return
            self._send(b"{}", "application/json", 200)

        def _body(self) -> Iterator[bytes]:
            if self.headers.get("transfer-encoding", "").lower() != "chunked":
                yield self.rfile.read(int(self.headers.get("content-length") or 0))
                return
            while size := int(self.rfile.readline().strip() or b"0", 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()

        def _send(self, data: bytes, kind: str, code: int) -> None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(code)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

    return Handler


def _event(told: Any) -> str:
    if isinstance(told, str):
        return f"data: {told}\n\n"
    name = f"event: {told['type']}\n" if "type" in told else ""
    return f"{name}data: {json.dumps(told)}\n\n"
