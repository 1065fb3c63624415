"""An HTTP endpoint on loopback that answers what a test tells it, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Sent:
    """One answer: its status, its body (JSON, or raw text), whether it never comes."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False


class Endpoint:
    """Plays its answers in order; the last one is played again and again. Instead of answers
    there may be a function of the request."""

    def __init__(self, answers: Sequence[Sent] | Callable[[Any], Sent]) -> None:
        self.answers = answers if callable(answers) else list(answers)
        self.requests: list[Any] = []
        self.raw: list[bytes] = []
        self._let_go = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                endpoint.raw.append(raw)
                endpoint.requests.append(json.loads(raw))
                sent = endpoint._answer(endpoint.requests[-1])
                if sent.hangs:
                    endpoint._let_go.wait(30)
                    self.close_connection = True
                    return
                body = sent.body if isinstance(sent.body, str) else json.dumps(sent.body)
                self.send_response(sent.status)
                for name, value in {"content-type": "application/json", **sent.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def _answer(self, request: Any) -> Sent:
        if callable(self.answers):
            return self.answers(request)
        return self.answers[min(len(self.requests), len(self.answers)) - 1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._let_go.set()
        self._server.shutdown()
        self._server.server_close()


def anthropic_answer(text: str = "", *calls: tuple[str, Any], **usage: int) -> Sent:
    """An answer of Messages with a text and tool calls (name, arguments)."""
    blocks: list[Any] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": arguments}
        for n, (name, arguments) in enumerate(calls)
    ]
    return Sent(
        body={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": blocks,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10, **usage},
        }
    )


def openai_answer(text: str = "", *calls: tuple[str, str], **usage: Any) -> Sent:
    """An answer of chat completions; arguments of calls are JSON text."""
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": args}}
            for n, (name, args) in enumerate(calls)
        ]
    return Sent(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "total_tokens": 110,
                **usage,
            },
        }
    )
