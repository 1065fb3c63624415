"""Models behind HTTP: what is sent, what comes back, and what is said when it goes wrong."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Sent, anthropic_answer, openai_answer

from pmem.models.anthropic import Anthropic, to_arguments
from pmem.models.named import model_named
from pmem.models.openai import OpenAI
from pmem.models.protocol import (
    ChatModel,
    Message,
    ModelError,
    Request,
    Tool,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)

Answering = Callable[..., Endpoint]
SAVE = Tool("memory_save", "keeps a fact", {"type": "object", "properties": {"id": {}}})
TALK = (
    Message("user", "the task", cached=True),
    Message("user", "what happened", cached=True),
    Message("assistant", "", calls=(ToolCall("c1", "memory_save", {"id": "db"}),)),
    Message("user", "now decide", results=(ToolResult("c1", "memory_save", "saved db"),)),
)
FAKELLM = Path(__file__).parents[3] / "shared" / "tools" / "fakellm.py"


def request(**more: Any) -> Request:
    return Request("be brief", TALK, (SAVE,), **{"phase": "decide", "timeout": 20.0, **more})


def at(provider: str, endpoint: Endpoint) -> ChatModel:
    if provider == "openai":
        pytest.importorskip("openai", reason="the package openai is not installed")
        return OpenAI("m", {"OPENAI_API_KEY": "sk-test-0000000000"}, endpoint.url)
    return Anthropic("m", {"ANTHROPIC_API_KEY": "sk-test-0000000000"}, endpoint.url)


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def answer(provider: str, text: str, *calls: Any, **usage: Any) -> Sent:
    if provider == "openai":
        import json

        return openai_answer(text, *((n, json.dumps(a)) for n, a in calls), **usage)
    return anthropic_answer(text, *calls, **usage)


def test_text_tool_calls_and_usage_come_back(provider: str, answering: Answering) -> None:
    endpoint = answering(answer(provider, "so be it", ("memory_save", {"id": "db"})))
    model = at(provider, endpoint)
    reply = model.ask(request())
    assert reply.text == "so be it"
    [call] = reply.calls
    assert (call.name, call.arguments) == ("memory_save", {"id": "db"})
    assert (reply.usage.input, reply.usage.output) == (100, 10)
    model.close()


def test_cached_tokens_are_told_apart(provider: str, answering: Answering) -> None:
    told: dict[str, Any] = (
        {"prompt_tokens_details": {"cached_tokens": 60}, "prompt_tokens": 100}
        if provider == "openai"
        else {"input_tokens": 40, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 5}
    )
    reply = at(provider, answering(answer(provider, "x", **told))).ask(request())
    assert (reply.usage.input, reply.usage.cache_read) == (40, 60)
    assert reply.usage.cache_write == (0 if provider == "openai" else 5)


def test_a_messages_request_marks_what_comes_again_for_the_cache() -> None:
    sent = to_arguments(request(), "m")
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
    first, calls, results = sent["messages"]
    assert [("cache_control" in block) for block in first["content"]] == [True, True]
    assert calls["content"][0]["type"] == "tool_use"
    assert [block["type"] for block in results["content"]] == ["tool_result", "text"]
    assert "temperature" not in sent


def test_a_chat_request_has_the_tool_s_result_after_its_call(answering: Answering) -> None:
    endpoint = answering(openai_answer("fine"))
    at("openai", endpoint).ask(request(temperature=0.3))
    [sent] = endpoint.requests
    assert [m["role"] for m in sent["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert sent["messages"][2]["tool_calls"][0]["id"] == sent["messages"][3]["tool_call_id"]
    assert sent["temperature"] == 0.3


def test_the_same_request_is_the_same_bytes(provider: str, answering: Answering) -> None:
    endpoint = answering(answer(provider, "x"))
    model = at(provider, endpoint)
    model.ask(request())
    model.ask(request())
    assert endpoint.raw[0] == endpoint.raw[1]


def test_an_overloaded_provider_is_asked_again(provider: str, answering: Answering) -> None:
    busy = Sent(529, {"error": {"message": "Overloaded"}}, {"retry-after": "0"})
    endpoint = answering(busy, busy, answer(provider, "at last"))
    assert at(provider, endpoint).ask(request()).text == "at last"
    assert len(endpoint.requests) == 3


def test_a_provider_that_stays_overloaded_is_given_up(provider: str, answering: Answering) -> None:
    busy = Sent(529, {"error": {"message": "Overloaded"}}, {"retry-after": "0"})
    endpoint = answering(busy)
    with pytest.raises(ModelError, match=r"529.*Overloaded") as told:
        at(provider, endpoint).ask(request())
    assert told.value.trouble is Trouble.BUSY
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize(
    ("status", "words", "trouble", "said"),
    [
        (401, "invalid x-api-key", Trouble.KEY, "API_KEY"),
        (404, "model: m", Trouble.MODEL, "pmem config model"),
        (400, "prompt is too long", Trouble.REFUSED, "refused the request"),
        (400, "this model does not support tools", Trouble.NO_TOOLS, "takes no tools"),
        (400, "temperature may only be set to 1", Trouble.NO_TEMPERATURE, "takes no temperature"),
        (402, "no credit", Trouble.KEY, "paid"),
    ],
)
def test_a_refusal_is_said_in_plain_words_and_not_repeated(
    provider: str, answering: Answering, status: int, words: str, trouble: Trouble, said: str
) -> None:
    endpoint = answering(Sent(status, {"error": {"message": words}}))
    with pytest.raises(ModelError, match=said) as told:
        at(provider, endpoint).ask(request())
    assert told.value.trouble is trouble
    assert words in str(told.value)
    assert len(endpoint.requests) == 1


def test_an_answer_that_never_comes_is_given_up_in_time(
    provider: str, answering: Answering
) -> None:
    endpoint = answering(Sent(hangs=True))
    with pytest.raises(ModelError) as told:
        at(provider, endpoint).ask(request(timeout=0.4))
    assert told.value.trouble in (Trouble.TIME, Trouble.NETWORK)


@pytest.mark.parametrize(
    "body", ["", "<html>sorry</html>", "[]", "{}", '{"choices": [], "content": []}']
)
def test_an_answer_that_is_none_is_empty_or_an_error(
    provider: str, answering: Answering, body: str
) -> None:
    try:
        reply = at(provider, answering(Sent(200, body))).ask(request())
    except ModelError as error:
        assert str(error)
    else:
        assert reply.calls == ()


def test_nobody_listening_is_said_with_the_place(provider: str, answering: Answering) -> None:
    endpoint = answering(Sent())
    endpoint.close()
    with pytest.raises(ModelError, match=r"127\.0\.0\.1") as told:
        at(provider, endpoint).ask(request(timeout=0.3))
    assert told.value.trouble is Trouble.NETWORK


@pytest.mark.parametrize("name", ["anthropic:claude-x", "openai:gpt-x"])
def test_a_missing_key_is_said_before_anything_is_sent(name: str) -> None:
    if name.startswith("openai"):
        pytest.importorskip("openai", reason="the package openai is not installed")
    with pytest.raises(ModelError, match="API_KEY") as told:
        model_named(name, {}).ask(request())
    assert told.value.lasting


def test_an_endpoint_of_one_s_own_needs_no_key(answering: Answering) -> None:
    endpoint = answering(anthropic_answer("hello"))
    assert Anthropic("m", {}, endpoint.url).ask(request()).text == "hello"


@pytest.mark.parametrize("name", ["", "gpt", "anthropic:", "carrier:pigeon", "command:  "])
def test_a_name_that_is_none_is_told_with_the_forms(name: str) -> None:
    with pytest.raises(ValueError, match=r"named|needs a program"):
        model_named(name, {})


def test_usages_add_up() -> None:
    total = Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40, money=0.5)
    assert total == Usage(11, 22, 33, 44, 0.5)
    assert total.tokens == 110


@pytest.fixture
def fakellm(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The scripted model server beside the checkout, in a thread."""
    if not FAKELLM.exists():
        pytest.skip("../shared/tools/fakellm.py is not beside this checkout")
    sys.path.insert(0, str(FAKELLM.parent))
    import fakellm

    log = tmp_path / "requests.jsonl"
    script = [{"tool": "memory_save", "args": {"id": "db"}}, {"text": "<no_intervention/>"}]
    server, port = fakellm.serve(0, script, str(log), text_mode=True)
    yield f"http://127.0.0.1:{port}", log
    server.shutdown()
    server.server_close()


def test_a_round_trip_through_the_real_sdk(provider: str, fakellm: tuple[str, Path]) -> None:
    url, log = fakellm
    if provider == "openai":
        pytest.importorskip("openai", reason="the package openai is not installed")
    name = f"{provider}:m"
    model = model_named(name, {}, url if provider == "anthropic" else f"{url}/v1")
    first = model.ask(Request("s", (Message("user", "a"),), (SAVE,), timeout=30))
    assert [c.name for c in first.calls] == ["memory_save"]
    talk = (
        Message("user", "a"),
        Message("assistant", first.text, first.calls),
        Message("user", "b", results=(ToolResult(first.calls[0].id, "memory_save", "saved"),)),
    )
    second = model.ask(Request("s", talk, (SAVE,), timeout=30))
    assert "<no_intervention/>" in second.text
    assert len(log.read_text().splitlines()) == 2


def test_time_is_measured_by_a_clock_that_never_jumps() -> None:
    from pmem.models.retry import with_retries

    now = iter([0.0, 0.0, 0.0, 1e9, 1e9])
    calls = []

    def busy(seconds: float) -> None:
        calls.append(seconds)
        raise ModelError(Trouble.BUSY, "busy")

    with pytest.raises(ModelError, match="gave up"):
        with_retries(busy, 5.0, sleep=lambda s: None, clock=lambda: next(now), chance=lambda: 0.5)
    assert calls == [5.0, 0.1]
    assert time.monotonic() > 0
