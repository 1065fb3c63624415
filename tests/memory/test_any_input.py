"""Whatever happens in a session, the rules neither fail nor speak without an entry."""

from __future__ import annotations

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from rings import HOOK, Kept, ran, ring, wants
from scene import Scene

from pmem.core.decision import Reminder, Trigger
from pmem.core.step import KINDS, Step
from pmem.memory.rules import Rules
from pmem.memory.rules.constraints import constraints
from pmem.memory.rules.requirement import checks
from pmem.memory.rules.wishes import mentions

_WORDS = """
never use run do not `npm install` `git push --force` npm 금지 하지 마 使わない 禁止 不要 git stash
before commit tests 전에 , . ; / * `
"""
words = st.sampled_from(_WORDS.split())
prose = st.lists(words | st.text(max_size=12), max_size=30).map(" ".join)
commands = st.sampled_from(
    ["npm test", "git stash", "git commit -m x", "jq .", "cat 'x", "a && (b", "echo $(", "", "&"]
) | st.text(max_size=40)
outputs = st.sampled_from(
    ["", "bash: jq: command not found", "Error: x", "run `npm ci` first", "FAILED a::b"]
) | st.text(max_size=60)
steps = st.builds(
    Step,
    number=st.just(0),
    kind=st.sampled_from(KINDS),
    action=commands | prose,
    observation=outputs | prose,
    exit_code=st.none() | st.sampled_from([0, 1, 2, 124, 127, 130, 137]),
    cwd=st.none() | st.sampled_from(["/home/kim/shop", "/home/kim/shop/web", "/tmp/x", ""]),
    is_error=st.none() | st.booleans(),
    refused=st.booleans(),
    turn=st.none() | st.integers(0, 3),
)


@examples(80)
@given(st.lists(steps, max_size=14), prose, commands)
def test_any_session(played: list[Step], rules: str, proposed: str) -> None:
    scene = Scene(rules, AGENTS_md=rules)
    for step in played:
        scene.step(step)
    for decision in (
        scene.proposes(proposed),
        scene.proposes_edit(proposed),
        scene.after(Trigger.FAILURE),
        scene.after(Trigger.FINISH),
    ):
        if isinstance(decision, Reminder):
            assert decision.entries and all(scene.bank.get(id) for id in decision.entries)
            assert decision.text and decision.cause and decision.reason


@examples(150)
@given(prose)
def test_any_rule_file(text: str) -> None:
    for found in (*constraints(text), *checks(text)):
        assert 1 <= found.line <= text.count("\n") + 1
    mentions(text)


@pytest.mark.parametrize("piece", ["\n", " \n", "\t", "a\n", "✗ ", "-", "Never run `x`.\n"])
def test_an_output_of_one_thing_over_and_over_is_read_in_a_moment(piece: str) -> None:
    """Patterns that try each place against all that follow would take minutes for these."""
    session = ring(Rules(), Kept())
    for n in range(3):
        session.handle(wants("make"), HOOK)
        session.handle(ran("make", piece * (20_000 // len(piece)), 1, call_id=f"{n}"), HOOK)
    assert len(session.outside.bank.bank.procedural) == 1
