"""What agents and model services really say, changed: read, or refused with the documented error.

Beside `test_fuzz.py`, which begins from nothing. Whatever is read can be kept and read again.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from mutants import mutants, samples
from rings import Kept, ring

from pmem.agents import codex_rollout
from pmem.agents.registry import PLACES, SPEAKERS, Adapters
from pmem.agents.transcripts.read import read as read_recorded
from pmem.core.event import SILENT, Answer, Event, Observed, Started
from pmem.core.step import Step
from pmem.memory.rules import Rules
from pmem.proxy.formats import WIRES
from pmem.session.outside import Channel

SEEN = samples()
fuzzed = examples(60)


def kept_and_read_again(steps: Iterable[Step]) -> None:
    for step in steps:
        line = json.dumps(step.to_json())
        assert json.dumps(Step.from_json(json.loads(line)).to_json()) == line


def steps_of(event: Event) -> Iterable[Step]:
    if isinstance(event, Observed):
        return (event.step,)
    return event.past if isinstance(event, Started) else ()


@pytest.mark.parametrize("name", [*PLACES, *SPEAKERS])
def test_hooks(name: str) -> None:
    seen = [line for lines in SEEN.get(f"hook:{name}", SEEN["hook:plugin"]) for line in lines]
    channel = Channel(f"hook:{name}", can_hold=True)
    runs = SEEN["run"] + [
        lines for kind in SEEN if kind.startswith("turns") for lines in SEEN[kind]
    ]

    @fuzzed
    @given(st.lists(mutants(seen), min_size=1, max_size=5), st.sampled_from(runs).flatmap(mutated))
    def tried(told: list[bytes], transcript: bytes) -> None:
        adapter = type(Adapters()[name])()
        session = ring(Rules(), Kept())
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.write(transcript)
            file.flush()
            for payload in told:
                payload = payload.replace(b"/p/run.jsonl", file.name.encode())
                answer: Answer = SILENT
                try:
                    events = adapter.events(payload)
                except ValueError:
                    continue
                for event in events:
                    kept_and_read_again(steps_of(event))
                    answer = session.handle(event, channel)
                assert isinstance(adapter.answer(payload, answer), bytes)

    tried()


def mutated(lines: list[Any]) -> st.SearchStrategy[bytes]:
    """A whole file."""
    return st.tuples(*(mutants([line]) for line in lines)).map(b"\n".join)


@pytest.mark.parametrize("kind", [kind for kind in SEEN if kind.startswith("turns:")])
def test_transcripts_of_a_conversation(kind: str) -> None:
    module = import_module(f"pmem.agents.{kind.partition(':')[2]}")

    @fuzzed
    @given(mutated(SEEN[kind][0]))
    def tried(data: bytes) -> None:
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.write(data)
            file.flush()
            for event, at in module.turns(file.name):
                assert at is None or isinstance(at, float)
                kept_and_read_again(steps_of(event))

    tried()


@fuzzed
@given(st.sampled_from(SEEN["run"]).flatmap(mutated))
def test_recorded_runs(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run"
        path.write_bytes(data)
        with contextlib.suppress(ValueError):
            kept_and_read_again(read_recorded(path).steps)
        codex_rollout.execution(str(path), "c")
        codex_rollout.patch_error(str(path))
        codex_rollout.summary(str(path))


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_replies_of_models(wire: Any) -> None:
    whole = [line for lines in SEEN[f"reply:{wire.name}"] for line in lines]
    stream = st.sampled_from(SEEN[f"stream:{wire.name}"]).flatmap(
        lambda lines: st.tuples(*(mutants([line]) for line in lines))
    )

    @fuzzed
    @given(mutants(whole), stream.map(lambda parts: b"".join(b"data: %b\n\n" % p for p in parts)))
    def tried(one: bytes, streamed: bytes) -> None:
        for data, is_stream in ((one, False), (streamed, True)):
            with contextlib.suppress(ValueError):
                assert isinstance(wire.reply(data, is_stream), list | None)

    tried()
