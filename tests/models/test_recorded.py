"""Every prompt and answer on disk: a run can be read, and repeated by who wants to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pmem.models.protocol import Message, ModelError, Request
from pmem.models.recorded import Recorded
from pmem.models.scripted import ScriptedModel, load_replies


def test_prompts_and_answers_are_files_in_their_order(tmp_path: Path) -> None:
    call = {"name": "memory_delete", "arguments": {"id": "x"}}
    model = Recorded(
        ScriptedModel([{"phase": "manage", "calls": [call]}, {"text": "그래"}, {"error": "busy"}]),
        tmp_path / "run",
    )
    for phase in ("manage", "decide"):
        model.ask(Request("system", (Message("user", "무엇?"),), phase=phase))
    with pytest.raises(ModelError):
        model.ask(Request("system", (), phase="manage"))
    names = sorted(p.name for p in (tmp_path / "run").iterdir())
    assert names == [
        "0001-manage-answer.txt",
        "0001-manage-prompt.txt",
        "0002-decide-answer.txt",
        "0002-decide-prompt.txt",
        "0003-manage-prompt.txt",
        "calls.jsonl",
    ]
    assert "무엇?" in (tmp_path / "run" / "0001-manage-prompt.txt").read_text("utf-8")
    assert json.loads((tmp_path / "run" / "0001-manage-answer.txt").read_text("utf-8")) == call
    rows = [
        json.loads(line) for line in (tmp_path / "run" / "calls.jsonl").read_text().splitlines()
    ]
    assert [row.get("error", "") != "" for row in rows] == [False, False, True]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "not JSON"),
        ("[]", "replies"),
        ('{"replies": [3]}', "reply 1: a reply must be an object"),
        ('{"replies": [{"say": 1}]}', "unknown key 'say'"),
        ('{"replies": [{"error": "odd"}]}', "unknown error 'odd'"),
        ('{"replies": [{"calls": ["x"]}]}', "list of objects"),
    ],
)
def test_a_script_that_cannot_be_played_is_told_with_its_place(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "play.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        load_replies(path)
    with pytest.raises(ValueError, match="cannot read"):
        load_replies(tmp_path / "none.json")
