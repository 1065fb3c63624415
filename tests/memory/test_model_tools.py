"""The four tools: what a call means for the bank, and what is told back."""

from __future__ import annotations

from typing import Any

import pytest

from pmem.core.bank import Delete, Entry, MemoryBank, SaveKnowledge, SaveProcedural, UpdateStatus
from pmem.memory.model.tools import MAX_CALLS, Outcome, carry_out, tools


def one(name: str, arguments: dict[str, Any], bank: MemoryBank | None = None) -> Outcome:
    [outcome] = carry_out([(name, arguments)], bank or MemoryBank())
    return outcome


def test_the_four_tools_of_the_paper() -> None:
    names = [
        "memory_update_status",
        "memory_save_knowledge",
        "memory_save_procedural",
        "memory_delete",
    ]
    assert [t.name for t in tools()] == names
    assert "when" in tools()[1].parameters["properties"]
    pure = tools(pure=True)[1].parameters["properties"]
    assert "when" not in pure and "id" not in pure


def test_each_becomes_its_operation() -> None:
    calls = [
        ("memory_update_status", {"content": "open: the build"}),
        ("memory_save_knowledge", {"id": "Port", "content": "It is 8080.", "tags": "web, fact"}),
        ("memory_save_procedural", {"id": "mk", "content": "make failed.", "outcome": "failed"}),
        ("memory_delete", {"id": "port"}),
    ]
    bank = MemoryBank()
    assert [o.op for o in carry_out(calls, bank)] == [
        UpdateStatus("open: the build"),
        SaveKnowledge("port", "It is 8080.", ("web", "fact")),
        SaveProcedural("mk", "make failed.", "failed"),
        Delete("port"),
    ]
    assert list(bank.entries) == ["mk"]


def test_without_an_id_one_is_made_of_the_content() -> None:
    outcome = one("memory_save_knowledge", {"content": "The server listens on port 8080."})
    assert isinstance(outcome.op, SaveKnowledge)
    assert outcome.op.id == "the-server-listens-on-port"


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("memory_delete", {"id": "nowhere"}, "there is no entry nowhere"),
        ("memory_delete", {}, "no usable id"),
        ("memory_save_knowledge", {"id": "a"}, "content must be a text"),
        ("memory_save_knowledge", {"id": "a", "content": ["x"]}, "content must be a text"),
        ("memory_save_knowledge", {"id": "!!", "content": "x"}, "no usable id"),
        ("run_command", {"command": "rm -rf /"}, "there is no tool 'run_command'"),
    ],
)
def test_what_cannot_be_done_is_told_and_left_out(
    name: str, arguments: dict[str, Any], told: str
) -> None:
    outcome = one(name, arguments)
    assert outcome.op is None
    assert told in outcome.told


@pytest.mark.parametrize("id", ["rule", "My Rule!"])
@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("memory_save_knowledge", {"content": "Push at will."}),
        ("memory_save_procedural", {"content": "Pushed.", "outcome": "succeeded"}),
        ("memory_delete", {}),
    ],
)
def test_what_the_user_wrote_stays_and_the_model_is_told(
    name: str, rest: dict[str, Any], id: str
) -> None:
    bank = MemoryBank(entries=[Entry("knowledge", id, "Never push.", source="user")])
    outcome = one(name, {"id": id, **rest}, bank)
    assert outcome == Outcome(None, f"not done: {id} was written by the user and stays as it is")
    assert [e.content for e in bank.entries.values()] == ["Never push."]


def test_a_recorded_attempt_is_refined_and_stays_one() -> None:
    bank = MemoryBank(entries=[Entry("procedural", "make", "…", command="make", attempts=2)])
    assert one("memory_save_knowledge", {"id": "make", "content": "x y"}, bank).op is None
    refined = one(
        "memory_save_procedural",
        {"id": "make", "content": "db.h is missing", "outcome": "failed"},
        bank,
    )
    assert refined.op is not None
    assert bank.entries["make"].attempts == 2


def test_a_watch_is_checked_before_it_is_kept() -> None:
    good = one(
        "memory_save_knowledge", {"id": "a", "content": "x", "when": {"command": "git push*"}}
    )
    text = one("memory_save_knowledge", {"id": "a", "content": "x", "when": '{"finish": true}'})
    bad = one("memory_save_knowledge", {"id": "a", "content": "x", "when": {"cmd": "git push*"}})
    assert isinstance(good.op, SaveKnowledge) and good.op.when == {"command": "git push*"}
    assert isinstance(text.op, SaveKnowledge) and text.op.when == {"finish": True}
    assert isinstance(bad.op, SaveKnowledge) and bad.op.when is None
    assert "without its watch" in bad.told


def test_more_calls_than_are_sane_are_not_done() -> None:
    calls = [("memory_save_knowledge", {"id": f"k{n}", "content": "x"}) for n in range(100)]
    outcomes = carry_out(calls, MemoryBank())
    assert sum(o.op is not None for o in outcomes) == MAX_CALLS


def test_a_long_content_is_cut_and_control_characters_go() -> None:
    outcome = one(
        "memory_save_knowledge", {"id": "a", "content": "\x1b[31mred\x1b[0m " + "x" * 5000}
    )
    assert isinstance(outcome.op, SaveKnowledge)
    assert outcome.op.content.startswith("red x")
    assert len(outcome.op.content) == 1000
