"""The gate: what it looks at, what it lets through whatever was learned."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.bank import MemoryBank, SaveKnowledge
from pmem.core.decision import Reminder, Trigger
from pmem.core.entry import Entry
from pmem.core.gate import ASKED_BY_GATE, Gate, Weights, of_moment, of_reminder, speaker
from pmem.core.history import History
from pmem.core.moment import Given, Moment
from pmem.core.step import Step

NEVER = Weights(1.0, -60.0)
SHUT = Gate({"model": NEVER, "rules": NEVER}, NEVER)
SAID = Reminder("make failed at step 2: db.h is not installed.", ("db",), "model", "db")


def at(*codes: int, trigger: Trigger = Trigger.FAILURE, given: tuple[Given, ...] = ()) -> Moment:
    """A moment after commands that ended with these codes."""
    history = History()
    steps = [
        Step(n, "command", f"make part{n}", f"output {n}", exit_code=code)
        for n, code in enumerate(codes, start=1)
    ]
    for step in steps:
        history.observe(step)
    return Moment(trigger, "build it", steps, MemoryBank(), history, given=given)


def test_without_weights_nothing_is_refused() -> None:
    assert Gate().refuses(SAID, at(1)) == "" and Gate().asks(at(1))
    only = Gate({"model": NEVER})
    assert only.refuses(replace(SAID, reason="loop"), at(1)) == "" and only.asks(at(1))


def test_what_is_unlikely_to_be_worth_it_is_refused_with_both_numbers() -> None:
    gate = Gate({"model": Weights(0.4, -1.0, {"failures": 4.0})})
    assert gate.refuses(SAID, at(0, 0, 0, 0)) == "the gate: 0.27 is below 0.40"
    assert gate.refuses(SAID, at(1, 1, 1, 1)) == ""


@pytest.mark.parametrize(
    "given_always",
    [
        {"sure": True},
        {"whole": True},
        {"reason": "watch:db"},
    ],
)
def test_what_is_sure_or_a_persons_is_always_given(given_always: dict[str, object]) -> None:
    moment = at(0)
    moment.bank.apply(SaveKnowledge("db", "x"))
    moment.bank.entries["db"] = replace(moment.bank.entries["db"], source="user")
    reminder = replace(SAID, **given_always)  # type: ignore[arg-type]
    assert SHUT.refuses(reminder, moment) == ""
    assert SHUT.refuses(SAID, moment)


def test_a_watch_that_a_model_wrote_is_the_models_word() -> None:
    moment = at(0)
    moment.bank.apply(SaveKnowledge("db", "x"))
    assert isinstance(moment.bank.entries["db"], Entry)
    assert [speaker(r) for r in ("model", "watch:db", "loop")] == ["model", "model", "rules"]
    assert SHUT.refuses(replace(SAID, reason="watch:db"), moment)


@pytest.mark.parametrize("trigger", list(Trigger))
def test_only_at_three_triggers_a_call_can_be_saved(trigger: Trigger) -> None:
    assert SHUT.asks(at(1, trigger=trigger)) == (trigger not in ASKED_BY_GATE)


def test_after_a_compaction_the_digest_is_given() -> None:
    assert SHUT.refuses(SAID, at(1, trigger=Trigger.COMPACTION)) == ""


def test_what_is_looked_at() -> None:
    assert of_moment(at(0, 1, 1)) == {"failures": 0.25, "failed": 1.0, "since reminder": 1.0}
    told = at(0, 1, 1, 0, given=(Given(2, "make failed at step 2"),))
    assert of_moment(told) == {"failures": 0.25, "since reminder": 0.1}
    seen = of_reminder(replace(SAID, text="output 4 make part4"), told)
    assert seen["seen in the last step"] == 1.0
    assert of_reminder(SAID, told)["told before"] > 0.4
    assert of_reminder(replace(SAID, reason="loop"), told)["reason loop"] == 1.0


@given(st.text(), st.lists(st.integers(0, 2), max_size=30), st.text())
def test_features_lie_between_nothing_and_one(text: str, codes: list[int], before: str) -> None:
    moment = at(*codes, given=(Given(0, before),))
    for found in (of_moment(moment), of_reminder(replace(SAID, text=text), moment)):
        assert all(0 < value <= 1 for value in found.values())


@given(st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_probability_is_one_whatever_the_weights(weights: dict[str, float]) -> None:
    found = Weights(0.5, 0.0, weights).probability(dict.fromkeys(weights, 1.0))
    assert 0 <= found <= 1
