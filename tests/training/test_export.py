"""`pmem train export`: recorded decisions become rows, the right ones, without secrets."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worked import (
    FACT,
    FOLLOWED,
    IGNORED,
    REPLIES,
    SAID,
    answers,
    replayed,
    rows,
    session,
)

from pmem.memory.model.parse import parse_tool_calls
from pmem.memory.model.tools import carry_out
from pmem.models.openai import to_arguments
from pmem.models.protocol import Reply, Request
from pmem.models.scripted import ScriptedModel
from pmem.training.export import PARTS, export, held_out
from pmem.training.sources import sources_in

Call = Callable[..., Any]
SHARED = Path(__file__).parents[2].parent / "shared" / "trajectories"
SECRET = "ghp_" + "Ab3dE5gH1jK2mN4pQ6rS8tU0vW7xY9zA1bC2"


class AsText:
    """A model without native tools: it writes its calls, as a program does."""

    name, native_tools = "command:x", False

    def __init__(self) -> None:
        self.model = ScriptedModel(REPLIES)

    def ask(self, request: Request) -> Reply:
        reply = self.model.ask(request)
        calls = [{"name": c.name, "arguments": dict(c.arguments)} for c in reply.calls]
        written = [f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls]
        return Reply("<think>what is there?</think>" + "\n".join([*written, reply.text]))

    def close(self) -> None: ...


# --- what a row is -------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["session", "replay"])
def test_a_row_is_the_conversation_as_it_goes_over_the_wire(tmp_path: Path, kept: str) -> None:
    if kept == "session":
        session(tmp_path / "in", "20260101-000000-claude", FOLLOWED)
        model = ScriptedModel(REPLIES)
        replayed(tmp_path / "beside", model)
    else:
        model = ScriptedModel(REPLIES)
        replayed(tmp_path / "in" / "one", model)
    export(sources_in([tmp_path / "in"], {}), tmp_path / "out", everything=True)
    [row] = [row for row in rows(tmp_path / "out") if row["messages"][-1]["content"] == SAID]
    [request] = [r for r in model.requests if r.phase == "decide" and "db.h" in r.messages[1].text][
        :1
    ]
    sent = to_arguments(request, "m")
    assert row["tools"] == sent["tools"]
    roles = [message["role"] for message in row["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert row["messages"][0] == sent["messages"][0]
    if kept == "replay":
        plain = [{k: v for k, v in m.items() if k in ("role", "content")} for m in row["messages"]]
        assert plain[:-1] == [{k: v for k, v in m.items() if k in ("role", "content")}
                              for m in sent["messages"]]  # fmt: skip
    [call] = row["messages"][2]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"id": "db", "content": FACT}
    answered = row["messages"][3]
    assert (answered["tool_call_id"], answered["content"]) == (call["id"], "saved db")


def test_calls_written_as_text_are_calls_and_thoughts_are_left_out(tmp_path: Path) -> None:
    replayed(tmp_path / "in" / "native", ScriptedModel(REPLIES))
    replayed(tmp_path / "in" / "text", AsText())
    for kind in ("native", "text"):
        found = sources_in([tmp_path / "in" / kind], {})
        export(found, tmp_path / f"out-{kind}", everything=True)
    assert rows(tmp_path / "out-text") == rows(tmp_path / "out-native")
    told = (tmp_path / "out-text" / "train.jsonl").read_text()
    assert "<think>" not in told and "You have no tools but text" not in told


def test_what_a_row_teaches_is_what_pmem_reads(tmp_path: Path) -> None:
    replayed(tmp_path / "in", ScriptedModel(REPLIES))
    export(sources_in([tmp_path / "in"], {}), tmp_path / "out", everything=True)
    from pmem.core.bank import MemoryBank

    calls = [
        (c["function"]["name"], json.loads(c["function"]["arguments"]))
        for row in rows(tmp_path / "out")
        for message in row["messages"]
        for c in message.get("tool_calls", ())
    ]
    written = "".join(
        f"<tool_call>{json.dumps({'name': n, 'arguments': a})}</tool_call>" for n, a in calls
    )
    assert [(c.name, c.arguments) for c in parse_tool_calls(written)] == calls
    assert [o.told for o in carry_out(calls, MemoryBank())] == ["saved db"]


# --- which rows there are ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "options", "why"),
    [
        (FOLLOWED, {}, ""),
        (IGNORED, {}, "it was not followed"),
        (FOLLOWED, {"deliver": "none"}, "the agent never read it"),
        (FOLLOWED, {"channel": "shell"}, ""),
    ],
)
def test_a_sessions_reminder_counts_if_it_was_delivered_and_followed(
    tmp_path: Path, steps: Any, options: dict[str, str], why: str
) -> None:
    session(tmp_path / "in", "20260101-000000-claude", steps, **options)
    done = export(sources_in([tmp_path / "in"], {}), tmp_path / "out")
    assert (SAID in answers(tmp_path / "out")) == (not why)
    assert not why or done.left[why] == 1


def test_what_was_called_noise_is_left_out(tmp_path: Path) -> None:
    place = session(tmp_path / "in", "20260101-000000-claude", FOLLOWED)
    path = place / "decisions.jsonl"
    said = next(d for d in map(json.loads, path.open()) if d["decision"] == "remind")
    with path.open("a") as file:
        file.write(json.dumps({**said, "decision": "wrong"}) + "\n")
    done = export(sources_in([tmp_path / "in"], {}), tmp_path / "out")
    assert SAID not in answers(tmp_path / "out")
    assert done.left["the user called it noise"] == 1


def test_a_silence_after_which_a_failure_came_back_is_left_out(tmp_path: Path) -> None:
    silent = [{"text": "<no_intervention/>", "times": 0}]
    session(tmp_path / "in", "20260101-000000-claude", IGNORED, replies=silent)
    done = export(sources_in([tmp_path / "in"], {}), tmp_path / "out")
    assert done.left["a failure came back after its silence"] > 0
    assert set(answers(tmp_path / "out")) == {"<no_intervention/>"}


def test_the_same_step_twice_is_one_row_and_a_task_lies_on_one_side(tmp_path: Path) -> None:
    for n in range(3):
        replayed(tmp_path / "in" / f"a{n}", ScriptedModel(REPLIES))
        later = [replace(one, number=one.number + n) for one in FOLLOWED]
        replayed(tmp_path / "in" / f"b{n}", ScriptedModel(REPLIES), later, task="Build it.")
    done = export(sources_in([tmp_path / "in"], {}), tmp_path / "out", everything=True)
    assert answers(tmp_path / "out").count(SAID) == 2
    assert done.left["the same is there already"] > 0
    sides = [{row.task for row in side} for side in (done.train, done.validation)]
    assert [len(side) for side in sides] == [1, 1] and not sides[0] & sides[1]


@given(
    st.sets(st.integers(0, 2**64 - 1).map("{:064x}".format), max_size=30),
    st.floats(0, 0.9),
    st.integers(0, 2**64 - 1).map("{:064x}".format),
)
def test_the_split_holds_out_some_tasks_never_all(tasks: set[str], share: float, new: str) -> None:
    held = held_out(tasks, share)
    assert held <= tasks
    if len(tasks) > 1 and share:
        assert 0 < len(held) < len(tasks)
    assert held == held_out(sorted(tasks, reverse=True), share)


# --- secrets, files, going on --------------------------------------------------------------------


def test_what_is_done_is_not_read_again_after_ctrl_c(tmp_path: Path) -> None:
    for n in range(3):
        replayed(tmp_path / "in" / f"r{n}", ScriptedModel(REPLIES), task=f"Task {'abc'[n]}.")
    found = sources_in([tmp_path / "in"], {})
    out = tmp_path / "out"
    done: list[int] = []

    def stops() -> None:
        done.append(1)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(found, out, everything=True, progress=stops)
    parts = sorted((out / PARTS).iterdir())
    assert len(parts) == 2 and not (out / "train.jsonl").exists()
    for part in parts:
        part.write_text(part.read_text().replace("Task ", "Known task "))
    export(found, out, everything=True)
    tasks = {line for row in rows(out) for line in row["messages"][1]["content"].split("\n")[1:2]}
    assert len([t for t in tasks if t.startswith("| Known task ")]) == 2 and len(tasks) == 3
    assert not (out / PARTS).exists()


def test_torn_records_are_counted_and_lose_no_other(tmp_path: Path) -> None:
    place = session(tmp_path / "in", "20260101-000000-claude", FOLLOWED)
    whole = export(sources_in([place], {}), tmp_path / "a", everything=True)
    with (place / "model.jsonl").open("a") as file:
        file.write('{"n": 99, "answer": "x"}\n{"n": 100, "answer": "x", "messages": 3}\n{"n": 1')
    torn = export(sources_in([place], {}), tmp_path / "b", everything=True)
    assert [r.print for r in torn.rows] == [r.print for r in whole.rows]
    assert torn.left["its record cannot be read"] == 2
