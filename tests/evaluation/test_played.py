"""A replay whose model may not be asked any more ends, and says so: silence would be a lie."""

from __future__ import annotations

from typing import Any

import pytest

from pmem.evaluation.played import CannotGoOn, Played, Taken
from pmem.evaluation.replay import replay
from pmem.memory.arms import Together, memory_agent
from pmem.models.prices import load_prices
from pmem.models.scripted import ScriptedModel
from pmem.session.ledger import Ledger, Limits

LINES = [
    {"step": n, "kind": "command", "action": f"sh part{n}.sh", "observation": "", "exit_code": 3}
    for n in range(1, 9)
]


def played(model: ScriptedModel, limits: Limits = Limits(), **options: Any) -> Taken:  # noqa: B008
    agent = memory_agent("selective", model)
    assert isinstance(agent, Together)
    taken = Taken(Ledger("anthropic:claude-sonnet-4-5", load_prices(), limits))
    replay({"task": "run all parts"}, LINES, Played(agent, taken, **options))
    return taken


def test_what_the_calls_took_is_added_up_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    model = ScriptedModel([{"error": "busy", "phase": "decide"}])
    taken = played(model, progress=lambda step, calls: told.append((step, calls)))
    assert taken.ledger.calls == len(model.requests) > 4
    assert taken.ledger.usage.input > 0 and taken.ledger.money > 0
    assert told == sorted(told) and told[-1][0] == 8
    assert taken.to_json()["calls"] == taken.ledger.calls


def test_a_failed_call_is_counted_with_its_reason() -> None:
    taken = played(ScriptedModel([{"error": "busy", "times": 2}]))
    assert (taken.failed, taken.failure) == (2, "the script says busy")


@pytest.mark.parametrize("trouble", ["key", "model", "setup"])
def test_a_model_that_cannot_be_asked_ends_it(trouble: str) -> None:
    model = ScriptedModel([{"error": trouble, "times": 0}])
    with pytest.raises(CannotGoOn, match=f"the script says {trouble}"):
        played(model)
    assert len(model.requests) == 1


@pytest.mark.parametrize("limits", [Limits(session_tokens=2000), Limits(session_money=0.003)])
def test_a_limit_ends_it_and_names_the_setting(limits: Limits) -> None:
    model = ScriptedModel([])
    with pytest.raises(CannotGoOn, match=r"the limit session_\w+ of .* is reached; pmem config"):
        played(model, limits)
    assert model.requests
