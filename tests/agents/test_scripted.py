"""The scripted agent's JSON, as its module documents it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pmem.agents.protocol import HookLine
from pmem.agents.scripted import SCRIPTED
from pmem.core.decision import Delivery, Reminder
from pmem.core.event import (
    SILENT,
    Answer,
    Citation,
    Ended,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.step import Action, Step


@pytest.mark.parametrize(
    ("told", "event"),
    [
        ({"event": "started", "how": "compact"}, Started("compact")),
        ({"event": "user", "text": "make it pass"}, UserMessage("make it pass")),
        (
            {"event": "proposed", "action": {"kind": "command", "text": "make", "cwd": "/p"}},
            Proposed(Action("command", "make", "/p")),
        ),
        (
            {
                "event": "observed",
                "agent_id": "a1",
                "step": {"kind": "command", "action": "make", "observation": "no", "exit_code": 2},
            },
            Observed(Step(0, "command", "make", "no", exit_code=2, agent_id="a1")),
        ),
        ({"event": "finished", "message": "done"}, Finished("done")),
        ({"event": "ended"}, Ended()),
    ],
)
def test_each_documented_event_is_read(told: dict[str, object], event: object) -> None:
    assert SCRIPTED.events(json.dumps(told).encode()) == [event]


def test_a_place_or_an_id_that_can_be_none_is_left_out() -> None:
    odd = {"kind": "command", "text": "make", "cwd": ["/p"], "call_id": {}, "tool": None}
    told = {"event": "proposed", "action": odd, "agent_id": ["a"]}
    seen = SCRIPTED.events(json.dumps(told).encode())
    assert seen == [Proposed(Action("command", "make"), None)]


@pytest.mark.parametrize(
    "payload",
    [b"", b"[]", b"{}", b'{"event": "proposed"}', b'{"event": "observed", "step": {}}', b"\xff"],
)
def test_anything_else_is_refused_with_a_value_error(payload: bytes) -> None:
    with pytest.raises(ValueError):
        SCRIPTED.events(payload)


def test_a_reminder_is_one_object_and_silence_is_nothing() -> None:
    reminder = Reminder("make failed twice.", ("make",), "repeat_failure", "make")
    cited = (Citation("make", "make: failed at steps 1, 2.", (1, 2)),)
    told = json.loads(SCRIPTED.answer(b"{}", Answer(reminder, True, Delivery.BEFORE, cited)))
    assert told["reminder"].startswith("[MEMORY REMINDER] make failed twice.")
    assert told["hold"] is True
    assert told["delivery"] == "before"
    assert "make (steps 1, 2)" in told["banner"]
    assert told["citations"] == [
        {"id": "make", "content": "make: failed at steps 1, 2.", "steps": [1, 2]}
    ]
    assert SCRIPTED.answer(b"{}", SILENT) == b""


def test_the_program_is_told_its_hook_line(tmp_path: Path) -> None:
    launch = SCRIPTED.launch("player", ["x"], HookLine("client || exit 0"), tmp_path)
    assert (list(launch.argv), launch.env) == (["player", "x"], {"PMEM_HOOK": "client || exit 0"})
