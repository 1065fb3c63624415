"""Any endpoint that speaks Anthropic's Messages: the real one, vLLM, Ollama, LM Studio, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pmem.models.protocol import Message, ModelError, Reply, Request, Tool, ToolCall, Trouble, Usage
from pmem.models.trouble import call_sdk

KEY = "ANTHROPIC_API_KEY"
TOKEN = "ANTHROPIC_AUTH_TOKEN"
#: At most so many places of a request may be marked for the cache.
MAX_MARKS = 4


class Anthropic:
    """A model behind `POST /v1/messages`.

    The key is taken from ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; an endpoint of one's own
    needs none.
    """

    native_tools = True

    def __init__(self, model: str, env: Mapping[str, str], base_url: str = "") -> None:
        self.model = model
        self.name = f"anthropic:{model}"
        self.base_url = base_url or env.get("ANTHROPIC_BASE_URL", "")
        self._key = env.get(KEY, "")
        self._token = env.get(TOKEN, "")
        self._client: Any = None

    def ask(self, request: Request) -> Reply:
        """One call of the model. Raises ModelError."""
        import anthropic

        client = self._connected(anthropic)
        arguments = to_arguments(request, self.model)

        answer = call_sdk(
            lambda left: client.messages.create(**arguments, timeout=left),
            request.timeout,
            anthropic,
            model=self.model,
            where=self.base_url or "api.anthropic.com",
            key=KEY,
        )
        return from_answer(answer)

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def _connected(self, sdk: Any) -> Any:
        if self._client is None:
            if not self._key and not self._token and not self.base_url:
                raise ModelError(
                    Trouble.KEY, f"there is no key for {self.name}; set {KEY}, or use --arm rules"
                )
            token = {"auth_token": self._token} if self._token and not self._key else {}
            self._client = sdk.Anthropic(
                api_key=self._key or (None if token else "none"),
                base_url=self.base_url or "https://api.anthropic.com",
                max_retries=0,
                **token,
            )
        return self._client


def to_arguments(request: Request, model: str) -> dict[str, Any]:
    """The arguments of `messages.create`: what stays the same stands first and is marked."""
    arguments: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "system": [{"type": "text", "text": request.system, **_mark(True)}],
        "messages": _messages(request.messages),
    }
    if request.tools:
        arguments["tools"] = [_tool(tool) for tool in request.tools]
    if request.temperature is not None:
        arguments["extra_body"] = {"temperature": request.temperature}
    return arguments


def from_answer(answer: Any) -> Reply:
    """The reply in an answer of the SDK; parts it does not know are left out."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    for block in getattr(answer, "content", None) or ():
        kind = getattr(block, "type", "")
        if kind == "text":
            texts.append(block.text or "")
        elif kind == "tool_use":
            arguments = block.input if isinstance(block.input, Mapping) else {}
            calls.append(ToolCall(str(block.id), str(block.name), dict(arguments)))
    usage = getattr(answer, "usage", None)
    return Reply(
        "\n".join(texts),
        tuple(calls),
        Usage(
            input=getattr(usage, "input_tokens", 0) or 0,
            output=getattr(usage, "output_tokens", 0) or 0,
            cache_read=getattr(usage, "cache_read_input_tokens", 0) or 0,
            cache_write=getattr(usage, "cache_creation_input_tokens", 0) or 0,
        ),
        str(getattr(answer, "stop_reason", "") or ""),
    )


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Turns that alternate; texts of the same role in a row are blocks of one turn."""
    turns: list[dict[str, Any]] = []
    marks = MAX_MARKS - 1  # one stands on the system prompt
    for message in messages:
        blocks: list[dict[str, Any]] = [
            {"type": "tool_result", "tool_use_id": r.call_id, "content": r.text}
            for r in message.results
        ]
        if message.text:
            blocks.append({"type": "text", "text": message.text})
        blocks += [
            {"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.arguments)}
            for c in message.calls
        ]
        if not blocks:
            continue
        if message.cached and marks:
            blocks[-1] |= _mark(True)
            marks -= 1
        if turns and turns[-1]["role"] == message.role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": message.role, "content": blocks})
    return turns


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }


def _mark(cached: bool) -> dict[str, Any]:
    return {"cache_control": {"type": "ephemeral"}} if cached else {}
