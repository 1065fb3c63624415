"""Fuzzers for all that reads bytes from outside: nothing but the documented errors comes out.

A few seconds as they stand; `PMEM_FUZZ=1000` in the environment makes a thousand times as many
examples, other ones at each run.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from rings import Kept, ring

from pmem.agents.registry import PLACES, SPEAKERS, Adapters
from pmem.agents.transcripts.read import read as read_recorded
from pmem.core.bank import MemoryBank
from pmem.core.event import SILENT, Answer
from pmem.core.failure import judge
from pmem.core.redact import redact
from pmem.core.signature import normal_form, parse
from pmem.core.step import Step
from pmem.core.text import clean, neutralise
from pmem.core.when import parse_watch
from pmem.memory.model.parse import (
    find_intervention,
    parse_intervention,
    parse_tool_calls,
    says_nothing,
)
from pmem.memory.rules import Rules
from pmem.proxy import sse
from pmem.proxy.body import read as read_body
from pmem.proxy.formats import WIRES
from pmem.session.outside import Channel
from pmem.session.shell_intake import to_event
from pmem.store import bank_rescue, jsonl
from pmem.store.bank_toml import BankError, dumps, loads
from pmem.store.knobs import SettingsError
from pmem.store.settings_file import read_table
from pmem.terminal.marks import MarkParser

fuzzed = examples(40)

#: Words that mean something to one reader or another.
WORDS = (
    *("hook_event_name", "tool_name", "tool_input", "tool_response", "session_id", "cwd", "prompt"),
    *(
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "SessionStart",
        "Stop",
    ),
    *("BeforeTool", "AfterTool", "PreCompact", "Bash", "command", "stdout", "stderr", "error"),
    *("run_shell_command", "shell", "apply_patch", "Edit", "file_path", "content", "messages"),
    *("role", "user", "assistant", "tool", "type", "text", "tool_use", "tool_result", "tool_calls"),
    *("function", "arguments", "input", "output", "contents", "parts", "functionCall", "event"),
    *("response_item", "payload", "call_id", "kind", "step", "action", "observation", "steps"),
    *("transcript_path", "agent_id", "source", "compact", "resume", "exit_code", "is_error", "ls"),
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=20)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=20,
)
objects = st.dictionaries(st.sampled_from(WORDS), values, max_size=9)


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _torn(parts: tuple[bytes, int, bytes]) -> bytes:
    whole, at, junk = parts
    return whole[: at % (len(whole) + 1)] + junk


payloads = (
    objects.map(_dumped)
    | st.binary(max_size=60)
    | st.tuples(objects.map(_dumped), st.integers(0, 999), st.binary(max_size=6)).map(_torn)
    | st.sampled_from([b"", b"{}", b"[]", b"null", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe"])
)
NAMES = [*PLACES, *SPEAKERS]


@pytest.mark.parametrize("name", NAMES)
def test_any_hook_payload_is_events_or_a_value_error(name: str) -> None:
    channel = Channel(f"hook:{name}", can_hold=True)

    @fuzzed
    @given(st.lists(payloads, max_size=3))
    def tried(told: list[bytes]) -> None:
        adapter = type(Adapters()[name])()
        session = ring(Rules(), Kept())
        for payload in told:
            answer: Answer = SILENT
            try:
                events = adapter.events(payload)
            except ValueError:
                continue
            for event in events:
                answer = session.handle(event, channel)
            assert isinstance(adapter.answer(payload, answer), bytes)

    tried()


@fuzzed
@given(st.lists(payloads, max_size=5), st.sampled_from(["a.jsonl", "a.json", "a.md", "b"]))
def test_any_file_is_a_recorded_run_or_a_value_error(lines: list[bytes], name: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / name
        path.write_bytes(b"\n".join(lines))
        try:
            recorded = read_recorded(path)
        except ValueError as error:
            assert name in str(error)
        else:
            assert all(isinstance(step.observation, str) for step in recorded.steps)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_any_body_of_a_model_service_is_read_or_passed_on(wire: Any) -> None:
    bodies = st.dictionaries(
        st.sampled_from([wire.array, "model", "system", "stream", "tools"]), values, max_size=5
    ).map(_dumped)

    @fuzzed
    @given(bodies | payloads, st.booleans())
    def tried(data: bytes, streamed: bool) -> None:
        try:
            body = read_body(wire, data)
        except ValueError:
            body = None
        if body is not None:
            told = [place.value for place in body.items]
            assert len(wire.entries(told)) == len(told)
            for place in body.items:
                wire.placed(body.text, place, "words")
        with contextlib.suppress(ValueError):
            wire.reply(data, streamed)
        list(sse.objects(b"data: " + data))

    tried()


toml_text = st.lists(
    st.sampled_from(
        [*'[]"=\n{}#.,\'\\', "[[knowledge]]\n", "[[procedural]]\n", "[status]\n", "id = ", '"a"',
         "content = ", "when = ", '{ command = "x" }', "schema = 1\n", '"""\n', "tags = ", "[1]",
         "1e400", "\x00", "\r\n", "é", "0x1", "true", "nan", "1979-05-27", "files = "]
    )
    | st.text(max_size=4),
    max_size=25,
).map("".join)  # fmt: skip


@fuzzed
@given(toml_text)
def test_any_bank_is_read_or_told(text: str) -> None:
    remarks: list[str] = []
    try:
        bank = loads(text, remarks, {})
    except BankError as error:
        assert str(error)
        return
    again = loads(dumps(bank))
    assert again.entries.keys() == bank.entries.keys()


@fuzzed
@given(st.binary(max_size=80) | toml_text.map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_any_bytes_of_a_bank_or_settings_are_read_or_told(data: bytes) -> None:
    with contextlib.suppress(BankError):
        assert isinstance(bank_rescue.read(data), MemoryBank)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "pmem.toml"
        path.write_bytes(data)
        with contextlib.suppress(SettingsError, OSError):
            read_table(path)
        path.with_name("steps.jsonl").write_bytes(data)
        list(jsonl.Lines(path.with_name("steps.jsonl")))


@fuzzed
@given(objects | values)
def test_any_watch_is_parsed_or_told(when: Any) -> None:
    try:
        parse_watch(when)
    except ValueError as error:
        assert str(error)


shell_bytes = st.lists(
    st.sampled_from(
        [b"\x1b]6973;", b"0000", b";1;C;1;/;ls", b"\x07", b"\x1b\\", b"\x1b", b"]", b";", b"D;0;/",
         b"\x1b[2J", b"\x1b]133;A\x07", b"\xff", b"text\r\n", b"%0A", b"%", b"\x9d", b"\x1bP"]
    )
    | st.binary(max_size=5),
    max_size=20,
).map(b"".join)  # fmt: skip


@fuzzed
@given(shell_bytes, st.lists(st.integers(0, 40), max_size=6))
def test_any_bytes_of_a_shell_pass_whole_however_they_are_cut(
    data: bytes, cuts: Sequence[int]
) -> None:
    whole = _through(MarkParser("0000"), [data])
    edges = sorted({min(cut, len(data)) for cut in (0, *cuts, len(data))})
    pieces = [data[a:b] for a, b in pairwise(edges)]
    assert _through(MarkParser("0000"), pieces) == whole
    foreign = _through(MarkParser("ffff"), [data])
    assert [part for part in foreign if not isinstance(part, bytes)] == []


def _through(parser: MarkParser, pieces: Sequence[bytes]) -> list[Any]:
    """What comes out, neighbouring bytes joined."""
    out: list[Any] = []
    for piece in pieces:
        for part in parser.feed(piece):
            if isinstance(part, bytes) and out and isinstance(out[-1], bytes):
                out[-1] += part
            elif part:
                out.append(part)
    return out


@fuzzed
@given(objects)
def test_any_message_of_the_terminal_is_an_event_or_nothing(message: dict[str, Any]) -> None:
    for kind in ("entered", "finished", "held", "else"):
        told = {"command": "ls", **message, "type": kind}
        to_event(told)


READERS: list[Callable[[str], object]] = [
    *(redact, neutralise, clean, normal_form, parse),
    *(find_intervention, parse_intervention, parse_tool_calls, says_nothing),
    lambda text: judge(Step(1, "command", text[:50], text, exit_code=1)),
]


@fuzzed
@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from([*WORDS, "<<EOF", "$(", "{", "`", "\n", "<context_for_action>", "```json",
                         '{"name": "', "</private>", "<private>", "\x1b[", "\ud800", "://", '="'])
    ).map("".join)
)  # fmt: skip
def test_any_text_is_read_without_an_error(text: str) -> None:
    for reader in READERS:
        reader(text)
