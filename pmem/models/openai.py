"""Any endpoint that speaks chat completions: OpenAI, OpenRouter, vLLM, Ollama, llama.cpp, …"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pmem.core import json_text
from pmem.models.protocol import Message, ModelError, Reply, Request, Tool, ToolCall, Trouble, Usage
from pmem.models.trouble import call_sdk

KEY = "OPENAI_API_KEY"
OWN_ENDPOINT = "https://api.openai.com/v1"


class OpenAI:
    """A model behind `POST /chat/completions`.

    The key is taken from OPENAI_API_KEY; an endpoint of one's own needs none.
    """

    native_tools = True

    def __init__(self, model: str, env: Mapping[str, str], base_url: str = "") -> None:
        self.model = model
        self.name = f"openai:{model}"
        self.base_url = base_url or env.get("OPENAI_BASE_URL", "")
        self._key = env.get(KEY, "")
        self._client: Any = None

    def ask(self, request: Request) -> Reply:
        """One call of the model. Raises ModelError."""
        try:
            import openai
        except ImportError:
            from pmem.extra import how_to_install

            raise ModelError(
                Trouble.SETUP,
                f"{self.name} needs the package openai; install it: "
                f"{how_to_install('openai', 'openai')}",
            ) from None
        client = self._connected(openai)
        arguments = to_arguments(request, self.model, newer=self.base_url in ("", OWN_ENDPOINT))

        answer = call_sdk(
            lambda left: client.chat.completions.create(**arguments, timeout=left),
            request.timeout,
            openai,
            model=self.model,
            where=self.base_url or "api.openai.com",
            key=KEY,
        )
        return from_answer(answer)

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def _connected(self, sdk: Any) -> Any:
        if self._client is None:
            if not self._key and not self.base_url:
                raise ModelError(
                    Trouble.KEY, f"there is no key for {self.name}; set {KEY}, or use --arm rules"
                )
            self._client = sdk.OpenAI(
                api_key=self._key or "none", base_url=self.base_url or OWN_ENDPOINT, max_retries=0
            )
        return self._client


def to_arguments(request: Request, model: str, *, newer: bool = False) -> dict[str, Any]:
    """The arguments of `chat.completions.create`. `newer`: OpenAI's own name for the limit."""
    arguments: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "system", "content": request.system}, *_messages(request.messages)],
        "max_completion_tokens" if newer else "max_tokens": request.max_tokens,
    }
    if request.tools:
        arguments["tools"] = [_tool(tool) for tool in request.tools]
    if request.temperature is not None:
        arguments["temperature"] = request.temperature
    return arguments


def from_answer(answer: Any) -> Reply:
    """The reply in an answer of the SDK; what is missing or broken in it is empty."""
    choices = getattr(answer, "choices", None) or [None]
    message = getattr(choices[0], "message", None)
    calls = []
    for n, call in enumerate(getattr(message, "tool_calls", None) or ()):
        function = getattr(call, "function", None)
        arguments = _arguments(getattr(function, "arguments", None))
        calls.append(
            ToolCall(str(call.id or f"call_{n}"), str(getattr(function, "name", "")), arguments)
        )
    usage = getattr(answer, "usage", None)
    total = getattr(usage, "prompt_tokens", 0) or 0
    read = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", 0) or 0
    cost = getattr(usage, "cost", None)  # OpenRouter tells it
    return Reply(
        str(getattr(message, "content", "") or ""),
        tuple(calls),
        Usage(
            input=max(0, total - read),
            output=getattr(usage, "completion_tokens", 0) or 0,
            cache_read=read,
            money=float(cost) if isinstance(cost, int | float) else None,
        ),
        str(getattr(choices[0], "finish_reason", "") or ""),
    )


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in messages:
        turns += [
            {"role": "tool", "tool_call_id": r.call_id, "content": r.text} for r in message.results
        ]
        if message.role == "assistant":
            turns.append(_assistant(message))
        elif message.text and turns and turns[-1]["role"] == "user":
            turns[-1]["content"] += "\n\n" + message.text
        elif message.text:
            turns.append({"role": "user", "content": message.text})
    return turns


def _assistant(message: Message) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.calls:
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
                },
            }
            for call in message.calls
        ]
    return turn


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def _arguments(text: Any) -> dict[str, Any]:
    try:
        found = json_text.loads(text or "{}")
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
