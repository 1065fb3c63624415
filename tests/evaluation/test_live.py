"""The memory of one trial: what its model is shown, and which note stands in which call."""

from __future__ import annotations

import json
from contextlib import closing
from importlib.util import find_spec
from typing import Any

import pytest
from endpoint import Endpoint, Sent, openai_answer

from pmem.core.decision import HEADER
from pmem.core.step import Action
from pmem.evaluation.live import Remembering, TrialMemory
from pmem.models.prices import load_prices

#: As long as the policy of tau2-bench's telecom, the longest there is.
POLICY = "\n".join(f"Rule {n}: what is asked under {n} is done under {n}." for n in range(480))


def memory(served: Endpoint, arm: str, *, task: str = "Build it.") -> Any:
    pure, arm = arm == "pure", "selective" if arm == "pure" else arm
    how = Remembering(arm, "openai:keeper", pure, interval=1, base_url=f"{served.url}/v1")
    return closing(TrialMemory(how, task, {}, load_prices(), "test"))


def shown(request: Any) -> str:
    return "\n".join(str(m["content"]) for m in request["messages"])


@pytest.mark.parametrize("arm", ["selective", "pure", "bank", "always", "advisor"])
def test_a_memory_agent_sees_the_whole_of_a_long_policy(arm: str) -> None:
    assert len(POLICY) > 23_300
    served = Endpoint([openai_answer("nothing")])
    with memory(served, arm, task=POLICY) as trial:
        trial.user("My phone has no signal.")
        trial.note()
    served.close()
    assert served.requests
    for request in served.requests:
        assert all(f"Rule {n}: " in shown(request) for n in range(480))


@pytest.mark.parametrize(("arm", "copies"), [("bank", 1), ("always", 1), ("pure", 2)])
def test_a_note_for_every_call_is_the_newest_one(arm: str, copies: int) -> None:
    """Two results come at once: an arm that always speaks says the newest, not all of them."""
    said = 0

    def answers(request: Any) -> Sent:
        nonlocal said
        last = str(request["messages"][-1]["content"])
        if "context_for_action" in last or "Does the agent need context" in last:
            said += 1
            return openai_answer(
                f'<context_for_action entries="port">The port is 80{said}.</context_for_action>'
            )
        fact = {"id": "port", "content": f"The port is 80{said + 1}, as /etc/port has it."}
        return openai_answer("", ("memory_save_knowledge", json.dumps(fact)))

    served = Endpoint(answers)
    with memory(served, arm) as trial:
        for n in (1, 2):
            trial.acted(Action("tool", f"look({n})", tool="look", call_id=str(n)), f"seen {n}")
        note = trial.note()
        assert trial.note() == "" and trial.points == 2 and trial.spoke == 1
    served.close()
    assert note.count(HEADER) == copies


@pytest.mark.skipif(find_spec("mem0") is not None, reason="Mem0 is installed here")
def test_without_mem0_the_arm_says_what_to_install() -> None:
    served = Endpoint([openai_answer("nothing")])
    with pytest.raises(ValueError, match="the arm mem0 needs the package mem0ai; install it: "):
        memory(served, "mem0")
    served.close()
