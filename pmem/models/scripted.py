"""A chat model that plays a script: for tests, for trying an arm out, for a demonstration.

A script is a JSON object with a list of replies; the first that fits and has not been played
answers:

    {"replies": [
      {"phase": "manage", "contains": "make build", "calls": [
        {"name": "memory_save_knowledge", "arguments": {"id": "db", "content": "…"}}]},
      {"phase": "decide", "text": "<context_for_action>…</context_for_action>", "seconds": 0.2},
      {"error": "busy", "times": 2}
    ]}

A reply fits if its `phase` is the request's and its `contains` stands in the newest message of
the user or the one before. It plays `times` times (1; 0: always). `seconds` is how long it
takes; `error` is a name of `pmem.models.protocol.Trouble`. Where nothing fits, the answer is
empty, which is silence.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.core import json_text
from pmem.models.protocol import ModelError, Reply, Request, ToolCall, Trouble, Usage

_KEYS = {"phase", "contains", "text", "calls", "seconds", "error", "times"}


class ScriptedModel:
    """Plays replies, and keeps the requests it was sent in `requests`."""

    native_tools = True

    def __init__(self, replies: Sequence[Mapping[str, Any]], name: str = "scripted") -> None:
        self.name = name
        self.replies = replies
        self.requests: list[Request] = []
        self._played: dict[int, int] = {}
        self._closed = threading.Event()

    def ask(self, request: Request) -> Reply:
        """The next reply that fits. Raises ModelError where the script says so or time is up."""
        self.requests.append(request)
        for n, reply in enumerate(self.replies):
            times = reply.get("times", 1)
            if (times and self._played.get(n, 0) >= times) or not _fits(reply, request):
                continue
            self._played[n] = self._played.get(n, 0) + 1
            return self._play(n, reply, request)
        return Reply(usage=_usage(request, ""))

    def close(self) -> None:
        """Wake a reply that still takes its time; it fails."""
        self._closed.set()

    def _play(self, n: int, reply: Mapping[str, Any], request: Request) -> Reply:
        seconds = float(reply.get("seconds", 0.0))
        if self._closed.wait(min(seconds, request.timeout)):
            raise ModelError(Trouble.NETWORK, "the scripted model was closed")
        if seconds > request.timeout:
            raise ModelError(Trouble.TIME, f"no answer in {request.timeout:g} s")
        if "error" in reply:
            raise ModelError(Trouble(reply["error"]), f"the script says {reply['error']}")
        text = str(reply.get("text", ""))
        calls = tuple(
            ToolCall(f"call_{n}_{i}", str(c.get("name", "")), dict(c.get("arguments") or {}))
            for i, c in enumerate(reply.get("calls", ()))
        )
        return Reply(text, calls, _usage(request, text))


def load_replies(path: Path) -> ScriptedModel:
    """Read a script. Raises ValueError with a sentence that names the file and the reply."""
    try:
        script = json_text.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read the script {path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"the script {path} is not JSON: {error}") from error
    replies = script.get("replies") if isinstance(script, dict) else None
    if not isinstance(replies, list):
        raise ValueError(f'the script {path} must be an object with a list "replies"')
    for n, reply in enumerate(replies, start=1):
        problem = _problem(reply)
        if problem:
            raise ValueError(f"the script {path}, reply {n}: {problem}")
    return ScriptedModel(replies, f"scripted:{path}")


def _problem(reply: Any) -> str:
    if not isinstance(reply, dict):
        return "a reply must be an object"
    unknown = reply.keys() - _KEYS
    if unknown:
        return f"unknown key {min(unknown)!r}"
    if "error" in reply and reply["error"] not in set(Trouble):
        return f"unknown error {reply['error']!r}; there are {', '.join(Trouble)}"
    calls = reply.get("calls", [])
    if not isinstance(calls, list) or not all(isinstance(c, dict) for c in calls):
        return "'calls' must be a list of objects"
    return ""


def _fits(reply: Mapping[str, Any], request: Request) -> bool:
    if "phase" in reply and reply["phase"] != request.phase:
        return False
    wanted = reply.get("contains")
    said = [m.text for m in request.messages if m.role == "user"][-2:]
    return wanted is None or any(str(wanted) in text for text in said)


def _usage(request: Request, text: str) -> Usage:
    """Four characters a token, as far as a script can know."""
    sent = len(request.system) + sum(len(m.text) for m in request.messages)
    return Usage(input=sent // 4, output=len(text) // 4)
