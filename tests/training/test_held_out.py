"""Memory steps played anew: what has the form that pmem reads, and what the figures tell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from worked import KEPT, REPLIES, SAID, replayed

from pmem.models.scripted import ScriptedModel
from pmem.training.data_set import load_data_set
from pmem.training.export import export
from pmem.training.held_out import Anew, figures, play_anew, well_formed
from pmem.training.sources import sources_in

NONE = "<no_intervention/>"
STATUS = '{"name": "memory_update_status", "arguments": {"content": "at work"}}'


def call(text: str) -> str:
    return f"<tool_call>\n{text}\n</tool_call>"


@pytest.mark.parametrize(
    ("text", "well"),
    [
        (call(STATUS), True),
        ("<think>\nwhat now?\n</think>\n\n" + call(STATUS) + call(json.dumps(KEPT)), True),
        ("<function=memory_delete><parameter=id>\nx\n</parameter></function>", True),
        (NONE, True),
        ("(no call)", True),
        ("", False),
        ("I shall keep that.", False),
        (call(STATUS) + call(STATUS[:-1]), False),  # one of them cannot be read
        (call(STATUS) + "<tool_call>\n{", False),  # cut off
        (call('{"name": "memory_burn", "arguments": {"content": "x"}}'), False),
        (call('{"name": "memory_save_knowledge", "arguments": {"id": "x"}}'), False),
        (call('{"name": "memory_update_status", "arguments": {"content": 3}}'), False),
        (call('{"name": "memory_delete", "arguments": {"id": "x", "why": "y"}}'), False),
    ],
)
def test_what_has_the_form_of_phase_1(text: str, well: bool) -> None:
    assert well_formed(text) is well


@pytest.fixture
def rows(tmp_path: Path) -> list[Mapping[str, Any]]:
    """Four memory steps of a run, one of which speaks."""
    replayed(tmp_path / "calls", ScriptedModel(REPLIES))
    export(sources_in([tmp_path / "calls"], {}), tmp_path / "data", everything=True)
    return list(load_data_set(tmp_path / "data").train)


def test_both_phases_are_played_in_one_conversation(rows: list[Mapping[str, Any]]) -> None:
    seen: list[Sequence[Mapping[str, Any]]] = []

    def plays(talks: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
        seen.extend(talks)
        return [SAID if len(talk) > 2 else call(json.dumps(KEPT)) for talk in talks]

    recorded = next(row for row in rows if len(row["messages"]) > 3)
    (one,) = play_anew([recorded], plays)
    assert (one.decision, one.recorded, one.calls_valid) == ("reminder", "reminder", True)
    # What a model is asked in phase 2 is what was recorded, to the last byte.
    assert list(seen[1]) == recorded["messages"][:-1]


def test_silence_in_phase_1_is_the_decision(rows: list[Mapping[str, Any]]) -> None:
    asked = []

    def silent(talks: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
        asked.append(len(talks))
        return [NONE for _ in talks]

    told = figures(play_anew(rows, silent))
    assert asked == [len(rows)] and told["valid"] == 1.0
    assert told["agreement"] == told["silent_agreement"] == round(1 - 1 / len(rows), 3)
    assert told["recall"] == 0.0 and told["precision"] is None


def test_what_cannot_be_read_agrees_with_nothing() -> None:
    spoke, quiet = Anew(call(STATUS), SAID, "reminder"), Anew(NONE, "", "silence")
    garbled = Anew(call(STATUS), "<context_for_action", "silence")
    wrong = Anew(call(STATUS), SAID, "silence")
    told = figures([spoke, quiet, garbled, wrong])
    assert (told["calls_valid"], told["decisions_valid"], told["valid"]) == (1.0, 0.75, 0.75)
    assert (told["agreement"], told["precision"], told["recall"]) == (0.5, 0.5, 1.0)
    assert (told["reminders"], told["reminders_recorded"], told["calls"]) == (2, 1, 3)
    assert figures([])["agreement"] is None
