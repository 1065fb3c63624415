"""Memory beside a trial, heard through the proxy: real requests on loopback, without Harbor."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, openai_answer
from harbor_models import FAILED, MEMORY, REMINDER, WRONG, reminded

from pmem.core.step import Action
from pmem.evaluation.harbor_memory import Door, Ear, MemoryBroke, beside
from pmem.evaluation.live import Remembering
from pmem.evaluation.played import CannotGoOn

TASK = "Make the program."
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint(lambda request: openai_answer("I go on.", ("bash", "{}")))
    yield served
    served.close()


@pytest.fixture
def how(tmp_path: Path) -> Remembering:
    script = tmp_path / "memory.json"
    script.write_text(json.dumps(MEMORY))
    return Remembering("selective", f"scripted:{script}", interval=1)


def asks(address: str, calls: int) -> None:
    """A request of an agent that did the wrong thing so often."""
    messages: list[Any] = [{"role": "user", "content": f"Please solve this: {TASK} Use bash."}]
    for n in range(calls):
        arguments = json.dumps({"command": WRONG if n == 0 else "true"})
        function = {"name": "bash", "arguments": arguments}
        call = {"id": f"call_{n}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        output = f"error: compiler 'cc' {FAILED}" if n == 0 else "done"
        messages.append({"role": "tool", "tool_call_id": f"call_{n}", "content": output})
    body = json.dumps({"model": "actor", "messages": messages, "tools": TOOLS}).encode()
    sent = urllib.request.Request(f"{address}/chat/completions", body)
    sent.add_header("content-type", "application/json")
    with urllib.request.urlopen(sent, timeout=30) as answer:
        assert answer.status == 200


async def played(how: Remembering, endpoint: Endpoint, record: Path, *, transient: bool) -> None:
    """Three requests of a trial, each with the conversation so far."""
    memory = await beside(how, TASK)
    door = Door(f"{endpoint.url}/v1")
    assert door.address.endswith("/v1")
    async with door.open(Ear(memory), pytest.fail, transient=transient):
        for calls in range(3):
            await asyncio.to_thread(asks, door.address, calls)
    memory.write(record)


@pytest.mark.parametrize("transient", [True, False])
def test_a_note_stands_in_the_request_it_belongs_to_or_stays(
    how: Remembering, endpoint: Endpoint, tmp_path: Path, transient: bool
) -> None:
    record = tmp_path / "pmem.json"
    asyncio.run(played(how, endpoint, record, transient=transient))
    assert reminded(endpoint.requests) == [False, True, not transient]
    told = json.loads(record.read_text())
    assert (told["points"], told["spoke"], told["took"]["calls"] > 0) == (3, 1, True)
    assert [REMINDER in note for note, _ in told["calls"]] == [False, True, False]
    assert told["decisions"][told["calls"][0][1]]["decision"] == "remind"
    assert not any(d.get("trigger") == "user_message" for d in told["decisions"])


def test_a_memory_that_cannot_be_asked_is_told_and_the_agent_is_answered(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    async def play() -> None:
        ear = Ear(await beside(Remembering("selective", "anthropic:some", interval=1), TASK))
        door = Door(f"{endpoint.url}/v1", "localhost")
        async with door.open(ear, pytest.fail, transient=True):
            for calls in range(2):
                await asyncio.to_thread(asks, door.address, calls)
            with pytest.raises(CannotGoOn, match="no key for anthropic:some"):
                await asyncio.wait_for(ear.broke, 30)

    asyncio.run(play())
    assert reminded(endpoint.requests) == [False, False]


def test_a_door_for_other_machines_answers_by_the_name_that_was_given_and_no_other(
    endpoint: Endpoint,
) -> None:
    door = Door(f"{endpoint.url}/v1", "host.example")
    assert door.address.startswith("http://host.example:")
    here = door.address.replace("host.example", "127.0.0.1")

    def status(host: str) -> int:
        sent = urllib.request.Request(f"{here}/models", b"{}", {"Host": host})
        try:
            with urllib.request.urlopen(sent, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    async def play() -> list[int]:
        async with door.open(
            Ear(await beside(Remembering("off"), TASK)), pytest.fail, transient=True
        ):
            names = ("host.example:1", "127.0.0.1", "evil.example")
            return [await asyncio.to_thread(status, name) for name in names]

    assert asyncio.run(play()) == [200, 200, 403]


def test_what_goes_wrong_in_memory_itself_says_that_it_was_memory() -> None:
    async def play() -> None:
        with pytest.raises(MemoryBroke, match="ValueError"):
            await beside(Remembering("selective", "nobody"), TASK)
        memory = await beside(Remembering("rules"), TASK)
        await memory.ask(lambda one: one.acted(Action("command", "true"), ""))
        with pytest.raises(MemoryBroke, match="ZeroDivisionError"):
            await memory.ask(lambda one: 1 // 0)

    asyncio.run(play())
