"""What a model may answer: tool calls as text, watches, reminders; and any bytes at the socket."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from live import Live
from mutants import mutants
from rings import Kept, ran, ring, wants

from pmem.core.bank import MemoryBank
from pmem.core.event import Finished
from pmem.hook.client import WIRE
from pmem.memory.arms import memory_agent
from pmem.memory.model.parse import find_intervention, parse_tool_calls
from pmem.memory.model.tools import carry_out
from pmem.models.scripted import ScriptedModel
from pmem.session.outside import Channel
from pmem.store.bank_toml import dumps, loads

WHEN = {"command": ["git push*", "make*"], "times": 2, "files": ["a.py"], "outcome": "failed"}
CALLS: list[Any] = [
    {"name": "memory_update_status", "arguments": {"content": "building"}},
    {
        "name": "memory_save_knowledge",
        "arguments": {"id": "port", "content": "8080", "tags": ["net"], "when": WHEN},
    },
    {
        "name": "memory_save_procedural",
        "arguments": {"id": "b", "content": "`make` fails", "outcome": "failed", "when": "{}"},
    },
    {"name": "memory_delete", "arguments": {"id": "port"}},
]
calls = st.lists(mutants(CALLS).map(lambda data: data.decode("utf-8", "replace")), max_size=4)
frames = st.sampled_from(
    [
        "<tool_call>{}</tool_call>",
        "<tool_call>\n{}",
        "<think>so</think><tool_call>{}</tool_call>",
        "<function=memory_save_knowledge><parameter=content>{}</parameter></function>",
        "```json\n{}\n```",
        "<context_for_action entries='port' when='{}'>Mind the port.</context_for_action>",
        "<context_for_action>{}",
    ]
)
answers = st.lists(st.tuples(frames, calls.map("\n".join)), max_size=3).map(
    lambda parts: "".join(frame.replace("{}", call, 1) for frame, call in parts)
)


@examples(60)
@given(answers)
def test_any_calls_leave_a_bank_that_can_be_kept(text: str) -> None:
    bank = MemoryBank()
    told = [(call.name, call.arguments) for call in parse_tool_calls(text)]
    outcomes = carry_out(told, bank)
    assert all(outcome.told for outcome in outcomes)
    assert loads(dumps(bank)).entries.keys() == bank.entries.keys()
    find_intervention(text)


@examples(30)
@given(st.lists(answers, min_size=1, max_size=4))
def test_any_answers_of_a_model_leave_the_agent_alone(told: list[str]) -> None:
    model = ScriptedModel([{"text": text} for text in told])
    memory = memory_agent("selective", model)
    session = ring(memory, Kept())
    channel = Channel("hook:test", can_hold=True)
    for n, event in enumerate(
        [ran("make", "no rule", 2), wants("git push -f"), ran("make", "no rule", 2), Finished("x")]
    ):
        answer = session.handle(event, channel)
        assert n < 4 and isinstance(answer.to_agent, str)


requests = st.binary(max_size=80) | st.tuples(
    st.sampled_from([b"claude", b"no-agent", b"../x", b"hello", b"pmem-proxy"]), st.binary()
).map(lambda parts: b"%s TOKEN %s\n%s" % (WIRE, *parts))


def test_any_bytes_at_its_socket_do_not_end_a_session(
    tmp_path: Path, short_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_dir))
    (tmp_path / "project").mkdir()
    live = Live(tmp_path / "project")
    reach = live.running.env

    @examples(60)
    @given(requests)
    def told(request: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.connect(reach["PMEM_SOCK"])
            link.sendall(request.replace(b"TOKEN", reach["PMEM_TOKEN"].encode()))
            link.shutdown(socket.SHUT_WR)
            while link.recv(1 << 16):
                pass

    told()
    assert live.step("make after", "ok")
    live.end()
