"""A policy that learns carries out its tools on a real bank, as a session does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import scripted_runs
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.decision import Reminder, Silence
from pmem.evaluation.dataset import load_dataset
from pmem.memory.model.tools import MAX_CALLS, tools
from pmem.training.environment import MemoryEnvironment, factory, played_in
from pmem.training.episode import Played, play
from pmem.training.turns import Turn, turns_of

SAID = "zstd.h: No such file or directory: make failed so at steps 2 and 5."


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Turn]:
    folder = scripted_runs.write(tmp_path_factory.mktemp("runs"))
    return {t.id: t for run in load_dataset(folder) for t in turns_of(run)}


@pytest.fixture
def turn(turns: dict[str, Turn]) -> Turn:
    """After the second failed build, when a reminder is wanted."""
    return turns["blind-zstd:6"]


def reset(turn: Turn) -> MemoryEnvironment:
    made = factory([turn])()
    made.reset(turn=turn.id, prompt=[])
    return made


def completion(calls: list[tuple[str, dict[str, Any]]], answer: str) -> list[dict[str, Any]]:
    """A conversation as TRL hands it over."""
    made = [{"type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
    return [
        {"role": "assistant", "content": "", "tool_calls": made},
        *({"role": "tool", "name": name, "content": "…"} for name, _ in calls),
        {"role": "assistant", "content": answer},
    ]


def test_a_turn_is_shown_as_a_session_shows_it(turn: Turn) -> None:
    system, asked = turn.opening()
    assert system["role"] == "system" and "memory of a coding agent" in system["content"]
    assert "fatal error: zstd.h" in asked["content"] and "# Bank" in asked["content"]
    assert asked["content"].rstrip().endswith("answer only `<no_intervention/>`.")
    assert "step 6" not in asked["content"], "what comes later is not seen"


def test_the_tools_change_the_bank_and_say_what_came_of_it(turn: Turn) -> None:
    there = reset(turn)
    assert there.memory_save_knowledge("zstd.h is missing, step 2", "header") == "saved header"
    assert there.memory_save_procedural("make failed twice", "failed", "make-twice").startswith(
        "saved"
    )
    assert there.memory_update_status("the build fails") == "status updated"
    assert there.memory_delete("make-twice") == "deleted make-twice"
    assert there.memory_delete("make-twice") == "there is no entry make-twice"
    assert there.memory_save_knowledge() == "not done: content must be a text"
    assert there._bank().get("header") is not None and there._bank().status == "the build fails"
    assert turn.moment.bank.get("header") is None, "another episode begins with the bank as it was"
    there.reset(turn=turn.id)
    assert there._bank().get("header") is None


def test_a_watch_that_cannot_be_read_is_told_and_left_out(turn: Turn) -> None:
    told = reset(turn).memory_save_knowledge("x at step 2", "x", when={"command": "*"})
    assert "without its watch" in told


calls = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["memory_save_knowledge", "memory_save_procedural"]),
            st.fixed_dictionaries(
                {"content": st.text(max_size=12)},
                optional={
                    "id": st.sampled_from(["a", "b", "make"]),
                    "when": st.just({"command": "make*"}),
                },
            ),
        ),
        st.tuples(st.just("memory_update_status"), st.fixed_dictionaries({"content": st.text()})),
        st.tuples(
            st.just("memory_delete"),
            st.fixed_dictionaries({"id": st.sampled_from(["a", "b", "make"])}),
        ),
    ),
    max_size=MAX_CALLS + 3,
)


@given(calls)
def test_the_bank_is_the_one_a_session_has_after_these_calls(
    turns: dict[str, Turn], made: list[tuple[str, dict[str, Any]]]
) -> None:
    there = reset(turns["blind-zstd:6"])
    told = [getattr(there, name)(**arguments) for name, arguments in made]
    episode = there._episode(completion(made, "<no_intervention/>"))
    given = [
        (name, {"outcome": "", **arguments} if name.endswith("procedural") else arguments)
        for name, arguments in made
    ]
    session = play(turns["blind-zstd:6"], Played(tuple(given), answer="<no_intervention/>"))
    for bank in (episode.bank, session.bank):
        assert bank.entries == there._bank().entries and bank.status == there._bank().status
    assert list(episode.told) == told


@pytest.mark.parametrize(
    ("answer", "passes", "readable"),
    [
        (f'<context_for_action entries="header">{SAID}</context_for_action>', True, True),
        ("<no_intervention/>", False, True),
        ('<context_for_action when=\'{"command": "make"}\'>x</context_for_action>', False, True),
        ('<context_for_action entries="header">Be careful.</context_for_action>', False, True),
        ("<context_for_action>", False, False),
        ("I would say nothing", False, False),
        ("", False, False),
    ],
)
def test_phase_2_is_read_and_guarded_as_in_a_session(
    turn: Turn, answer: str, passes: bool, readable: bool
) -> None:
    kept = ("memory_save_knowledge", {"id": "header", "content": "zstd.h is missing (step 2)"})
    episode = reset(turn)._episode(completion([kept], answer))
    assert isinstance(episode.verdict, Reminder if passes else Silence)
    assert episode.readable is readable
    assert bool(episode.delivered) is passes


def test_who_was_reminded_is_not_told_the_same_words_again(turns: dict[str, Turn]) -> None:
    turn = turns["tool-rg:12"]
    given = turn.moment.given[-1].text
    kept = ("memory_save_knowledge", {"id": "again", "content": given})
    said = f'<context_for_action entries="again">{given}</context_for_action>'
    episode = play(turn, Played((kept,), answer=said))
    assert isinstance(episode.verdict, Silence) and "same words" in episode.verdict.why


def test_silence_is_a_whole_answer_and_words_without_a_call_are_none(turn: Turn) -> None:
    for text, readable in (("<no_intervention/>", True), ("<context_for_action>x", False)):
        episode = play(turn, played_in([{"role": "assistant", "content": text}]))
        assert episode.readable is readable and isinstance(episode.verdict, Silence)
    assert not play(turn, played_in([])).readable


def test_the_tools_are_those_a_session_offers() -> None:
    public = {n for n in vars(MemoryEnvironment) if not n.startswith("_")} - {"reset"}
    assert public == {tool.name for tool in tools()}
    for name in public:
        assert "Args:" in (getattr(MemoryEnvironment, name).__doc__ or "")


def test_tools_before_a_turn_are_an_error() -> None:
    with pytest.raises(RuntimeError, match="reset"):
        MemoryEnvironment({}).memory_update_status("x")


def test_what_is_sent_holds_no_secret(tmp_path: Path) -> None:
    folder = scripted_runs.write(tmp_path)
    path = folder / "steps" / "blind-zstd.jsonl"
    secret = "ghp_" + "a1B2" * 9
    path.write_text(path.read_text().replace("cc -o app", f"token {secret}"))
    run = next(run for run in load_dataset(folder) if run.id == "blind-zstd")
    assert secret in json.dumps(run.lines)
    for turn in turns_of(run, folder):
        assert secret not in json.dumps(turn.opening())
