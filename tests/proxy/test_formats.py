"""The four formats: what a request tells, and where words stand in it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from wires import ANTHROPIC, CHAT, GEMINI, RESPONSES, SPOKEN, TASK, Spoken, shorter

from pmem.proxy.body import Body, read
from pmem.proxy.conversation import Conversations
from pmem.proxy.formats import wire_of

COMMANDS = ["make build"] * 30
EACH = pytest.mark.parametrize("spoken", SPOKEN, ids=lambda s: s.name)


def body_of(spoken: Spoken, data: bytes) -> Body:
    wire = wire_of(spoken.path)
    assert wire is not None
    body = read(wire, data)
    assert body is not None
    return body


@EACH
def test_each_turn_tells_its_command_once_and_a_retry_nothing(spoken: Spoken) -> None:
    conversations = Conversations()
    for number, data in enumerate(spoken.talk(COMMANDS)):
        turn = conversations.turn(body_of(spoken, data))
        assert turn is not None and turn.ours and turn.lane.id is None
        if number == 0:
            assert turn.news == [{"event": "user", "text": TASK}]
        else:
            assert [one["event"] for one in turn.news] == ["proposed", "observed"]
            assert "db.h: No such file" in turn.news[1]["output"]
        again = conversations.turn(body_of(spoken, data))
        assert again is not None and again.news == []


@EACH
def test_without_words_a_body_is_the_very_bytes(spoken: Spoken) -> None:
    for data in spoken.talk(COMMANDS):
        sent = hashlib.sha256(body_of(spoken, data).with_words([])).hexdigest()
        assert sent == hashlib.sha256(data).hexdigest()


@EACH
@examples(8)
@given(spoken_at=st.sets(st.integers(0, 30), max_size=8), words=st.text(min_size=1))
def test_words_stay_and_each_request_begins_with_the_one_before(
    spoken: Spoken, spoken_at: set[int], words: str
) -> None:
    conversations, before, said = Conversations(), b"", 0
    for number, data in enumerate(spoken.talk(COMMANDS)):
        body = body_of(spoken, data)
        conversations.turn(body)
        if number in spoken_at:
            assert conversations.say(body, f"{words} {number}")
            said += 1
        placed = conversations.words_in(body)
        assert len(placed) == said
        sent = body.with_words(placed)
        assert sent.startswith(before)
        json.loads(sent)
        assert conversations.words_in(body_of(spoken, data)) == placed  # for a retry
        before = shorter(sent)


@EACH
def test_transient_words_stand_in_one_request_and_its_retry(spoken: Spoken) -> None:
    conversations = Conversations(transient=True)
    first, second, third = spoken.talk(COMMANDS[:2])
    body = body_of(spoken, second)
    conversations.turn(body)
    conversations.say(body, "remember")
    assert len(conversations.words_in(body_of(spoken, second))) == 1
    assert conversations.words_in(body_of(spoken, third)) == []
    assert conversations.words_in(body_of(spoken, first)) == []


def last_items(spoken: Spoken, data: bytes) -> list[dict[str, Any]]:
    """The last two items of a request with words behind its last one."""
    body = body_of(spoken, data)
    conversations = Conversations()
    conversations.turn(body)
    assert conversations.say(body, "remember")
    items = json.loads(body.with_words(conversations.words_in(body)))[spoken.array]
    return list(items[-2:])


def test_anthropic_takes_words_behind_every_tool_result_and_the_last_cache_mark() -> None:
    items = [ANTHROPIC.task("go"), *ANTHROPIC.acts(1, "ls", "x"), *ANTHROPIC.acts(2, "ls", "y")]
    items[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    (_, last) = last_items(ANTHROPIC, ANTHROPIC.body(items))
    kinds = [block["type"] for block in last["content"]]
    assert (last["role"], kinds) == ("user", ["tool_result", "text"])
    assert "cache_control" in last["content"][0] and "cache_control" not in last["content"][1]


def test_anthropic_takes_words_into_a_text_and_into_the_agent_s_own_last_message() -> None:
    (last,) = last_items(ANTHROPIC, ANTHROPIC.body([ANTHROPIC.task('say "go"')]))
    texts = [block["text"] for block in last["content"]]
    assert texts == ['say "go"', "remember"]
    items = [ANTHROPIC.task("go"), {"role": "system", "content": [{"type": "text", "text": "x"}]}]
    assert last_items(ANTHROPIC, ANTHROPIC.body(items))[-1]["content"][-1]["text"] == "remember"


@pytest.mark.parametrize(
    ("spoken", "item"),
    [
        (ANTHROPIC, {"role": "assistant", "content": "{"}),
        (CHAT, {"role": "assistant", "content": "{"}),
        (RESPONSES, {"type": "message", "role": "assistant", "content": []}),
        (RESPONSES, {"type": "reasoning", "summary": []}),
        (GEMINI, {"role": "model", "parts": [{"text": "{"}]}),
    ],
    ids=["anthropic", "chat", "responses", "reasoning", "gemini"],
)
def test_nothing_goes_behind_what_the_model_is_to_go_on_with(
    spoken: Spoken, item: dict[str, Any]
) -> None:
    body = body_of(spoken, spoken.body([spoken.task("go"), item]))
    conversations = Conversations()
    conversations.turn(body)
    assert not conversations.say(body, "remember")


def test_chat_keeps_a_tool_s_result_and_makes_a_message_behind_it() -> None:
    data = CHAT.body([CHAT.task("go"), *CHAT.acts(1, "ls", "x")])
    result, ours = last_items(CHAT, data)
    assert result == CHAT.acts(1, "ls", "x")[1]
    assert ours == {"role": "user", "content": "remember"}
    assert last_items(CHAT, CHAT.body([CHAT.task("go")]))[-1]["content"] == "go\n\nremember"
    parts = [{"type": "text", "text": "go"}]
    told = last_items(CHAT, CHAT.body([{"role": "user", "content": parts}]))[-1]["content"]
    assert [part["text"] for part in told] == ["go", "remember"]


def test_responses_makes_a_developer_s_message() -> None:
    data = RESPONSES.body([RESPONSES.task("go"), *RESPONSES.acts(1, "ls", "x")])
    part = {"type": "input_text", "text": "remember"}
    assert last_items(RESPONSES, data)[-1] == {
        "type": "message",
        "role": "developer",
        "content": [part],
    }


def test_gemini_keeps_responses_alone_and_adds_a_part_to_the_user_s_own() -> None:
    data = GEMINI.body([GEMINI.task("go"), *GEMINI.acts(1, "ls", "x")])
    result, ours = last_items(GEMINI, data)
    assert list(result["parts"][0]) == ["functionResponse"]
    assert ours == {"role": "user", "parts": [{"text": "remember"}]}
    (alone,) = last_items(GEMINI, GEMINI.body([GEMINI.task("go")]))
    assert [part["text"] for part in alone["parts"]] == ["go", "remember"]


def test_a_kept_response_is_gone_on_from_and_nothing_is_said_twice() -> None:
    """`previous_response_id`: the service keeps what was sent, our words too."""
    conversations = Conversations()
    first = body_of(RESPONSES, RESPONSES.body([RESPONSES.task("go")]))
    conversations.turn(first)
    conversations.say(first, "remember")
    about = {**RESPONSES.about, "previous_response_id": "resp_1"}
    later = {**about, "input": [RESPONSES.task("go")]}
    assert conversations.words_in(body_of(RESPONSES, json.dumps(later).encode())) == []


def test_moved_cache_marks_and_a_lone_text_s_shape_make_no_other_conversation() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    marked = [{"role": "user", "content": [{"type": "text", "text": "go", **mark}]}]
    conversations = Conversations()
    body = body_of(ANTHROPIC, ANTHROPIC.body(marked))
    conversations.turn(body)
    conversations.say(body, "remember")
    later = [ANTHROPIC.task("go"), *ANTHROPIC.acts(1, "ls", "x")]
    placed = conversations.words_in(body_of(ANTHROPIC, ANTHROPIC.body(later)))
    assert placed == [(0, "remember")]


@pytest.mark.parametrize(
    "path",
    ["/v1/messages/count_tokens", "/v1/models", "/v1/embeddings", "/v1/responses/compact",
     "/v1beta/models/g:countTokens", "/v1beta/models/g:embedContent", "/"],
)  # fmt: skip
def test_other_requests_have_no_format(path: str) -> None:
    assert wire_of(path) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff", b'{"messages":[{}],"messages":[]}', b"\xef\xbb\xbf{}",
     b"[" * 100_000, b'{"messages":' + b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_request_is_refused_and_never_more(data: bytes) -> None:
    wire = wire_of(ANTHROPIC.path)
    assert wire is not None
    with pytest.raises(ValueError):
        read(wire, data)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "parts", "tool_calls", "function", "name",
                 "arguments", "id", "call_id", "tool_use_id", "output", "functionCall",
                 "functionResponse", "response", "args", "input", "tool_call_id"]
            ),
            inner | st.sampled_from(["user", "assistant", "model", "tool", "text", "tool_use",
                                     "tool_result", "message", "function_call"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)  # fmt: skip


@EACH
@examples(40)
@given(items=st.lists(JUNK, min_size=1, max_size=4), about=st.dictionaries(st.text(), JUNK))
def test_no_conversation_whatever_breaks_it(
    spoken: Spoken, items: list[Any], about: dict[str, Any]
) -> None:
    wire = wire_of(spoken.path)
    assert wire is not None
    about = {**about, **spoken.about, spoken.array: [spoken.task("go"), *items]}
    body = read(wire, json.dumps(about).encode())
    assert body is not None
    conversations = Conversations()
    conversations.turn(body)
    conversations.say(body, "remember")
    json.loads(body.with_words(conversations.words_in(body)))
