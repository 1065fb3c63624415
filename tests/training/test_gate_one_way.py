"""A gate can only make pmem quieter and cheaper, whatever its weights are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from worked import REPLIES, TASK, step

from pmem.core.gate import Gate, Weights
from pmem.evaluation.dataset import load_dataset
from pmem.evaluation.replay import Replayed, replay
from pmem.memory.arms import Together, memory_agent
from pmem.models.scripted import ScriptedModel

SHARED = Path(__file__).parents[2].parent / "shared" / "trajectories"
#: Failures again and again: rules and model have much to say.
COMMANDS = ("make", "npm test", "make", "pip install x")
STEPS = [
    step(n, COMMANDS[n % 4], f"error: db.h: No such file {n % 3}", n % 5 and 2)
    for n in range(1, 40)
]
number = st.floats(-4, 4)
names = st.sampled_from(["failures", "failed", "words", "told before", "since reminder"])
weights = st.builds(Weights, st.floats(0, 1), number, st.dictionaries(names, number))
gates = st.builds(
    Gate,
    st.dictionaries(st.sampled_from(["model", "rules"]), weights),
    st.none() | weights,
)


def said(result: Replayed) -> list[tuple[int, str]]:
    return [(one.asked_at, one.reminder.text) for one in result.said]


def rules(gate: Gate | None) -> Replayed:
    memory = memory_agent("rules")
    assert memory is not None
    return replay({"task": TASK}, [s.to_json() for s in STEPS], memory, gate=gate)


@examples(15)
@given(gates)
def test_a_gate_adds_no_reminder_and_moves_none(gate: Gate) -> None:
    without, with_gate = rules(None), rules(gate)
    assert len(without.said) > 2
    assert set(said(with_gate)) <= set(said(without))
    quiet = [d for d in with_gate.decisions if str(d.get("verdict", "")).startswith("the gate")]
    assert len(with_gate.said) + len(quiet) == len(without.said)
    assert all("candidate" in d for d in quiet)


@examples(15)
@given(gates)
def test_a_gate_adds_no_call(gate: Gate) -> None:
    def calls(gate: Gate) -> int:
        model = ScriptedModel([{**reply, "times": 0} for reply in REPLIES])
        agent = memory_agent("selective", model)
        assert isinstance(agent, Together)
        agent.gate = gate
        replay({"task": TASK}, [s.to_json() for s in STEPS], agent, gate=gate)
        return len(model.requests)

    assert 0 < calls(gate) <= calls(Gate())


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded runs are not beside this checkout")
def test_over_recorded_runs_a_gate_that_lets_some_through_adds_nothing() -> None:
    gate = Gate({"rules": Weights(0.5, 0.5, {"failures": 2.0, "words": -2.0})})
    kept = all_said = 0
    for run in load_dataset(SHARED):
        memories = [memory_agent("rules"), memory_agent("rules")]
        assert memories[0] is not None and memories[1] is not None
        without = said(replay(run.header, run.lines, memories[0]))
        with_gate = said(replay(run.header, run.lines, memories[1], gate=gate))
        assert set(with_gate) <= set(without), json.dumps(run.id)
        kept, all_said = kept + len(with_gate), all_said + len(without)
    assert 0 < kept < all_said
