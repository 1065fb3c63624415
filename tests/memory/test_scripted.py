"""The scripted memory agent plays its lines, and says what is wrong with a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scene import Scene, silent

from pmem.core.decision import Reminder, Trigger
from pmem.core.step import Action
from pmem.memory.arms import memory_agent
from pmem.memory.scripted import Scripted, load_script, parse_script

SCRIPT = [
    {
        "step": 1,
        "ops": [
            {"tool": "memory_update_status", "content": "looking"},
            {"tool": "memory_save_knowledge", "id": "db", "content": "The db is in /var/db."},
        ],
    },
    {
        "command": "npm test*",
        "proposed": True,
        "say": {"text": "`npm test` failed at step 1.", "sure": True},
    },
]


def test_ops_are_played_once_at_their_step() -> None:
    scene = Scene().ran("ls", "src\n")
    script = Scripted(parse_script(SCRIPT))
    ops = script.manage(scene.moment(Trigger.INTERVAL))
    assert [type(op).__name__ for op in ops] == ["UpdateStatus", "SaveKnowledge"]
    assert script.manage(scene.moment(Trigger.INTERVAL)) == []


def test_a_reminder_cites_the_attempts_of_the_command_at_hand() -> None:
    scene = Scene().ran("npm test", "boom\n", 1).ran("make", "ok\n")
    script = Scripted(parse_script(SCRIPT))
    moment = scene.moment(Trigger.PROPOSED, Action("command", "npm test"))
    said = script.decide(moment)
    assert isinstance(said, Reminder)
    assert said.entries == ("npm-test",) and said.sure
    assert silent(script.decide(moment)), "a line plays once"


def test_a_line_may_play_always() -> None:
    script = Scripted(parse_script([{"times": 0, "say": {"text": "a", "entries": ["x"]}}]))
    moment = Scene().moment(Trigger.INTERVAL)
    assert not silent(script.decide(moment)) and not silent(script.decide(moment))


def test_conditions_must_all_hold() -> None:
    script = Scripted(parse_script([{"trigger": "finish", "step": 1, "say": {"text": "a"}}]))
    scene = Scene().ran("ls", "src\n")
    assert silent(script.decide(scene.moment(Trigger.INTERVAL)))
    assert not silent(script.decide(scene.moment(Trigger.FINISH)))


@pytest.mark.parametrize(
    "script, words",
    [
        ({}, "must be a JSON list"),
        ([{}], "line 1: a line needs 'ops' or 'say'"),
        ([{"say": {"text": "a"}}, {"sayy": 1}], "line 2: unknown key 'sayy'"),
        ([{"say": {}}], "'say' needs the string 'text'"),
        ([{"step": "1", "say": {"text": "a"}}], "'step' has the wrong type"),
        ([{"trigger": "now", "say": {"text": "a"}}], "unknown trigger 'now'"),
        ([{"ops": [{"tool": "memory_burn"}]}], "unknown tool 'memory_burn'"),
        ([{"ops": [{"tool": "memory_delete", "name": "x"}]}], "memory_delete: wrong arguments"),
    ],
)
def test_a_wrong_script_is_told_by_line(tmp_path: Path, script: object, words: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    with pytest.raises(ValueError, match=r"script\.json") as raised:
        load_script(file)
    assert words in str(raised.value)


def test_arms_by_name(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(SCRIPT))
    assert memory_agent("off") is None
    assert memory_agent("rules").name == "rules"  # type: ignore[union-attr]
    assert memory_agent(f"scripted:{file}").name == "scripted"  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="there are off, rules"):
        memory_agent("wizard")
    with pytest.raises(ValueError, match="cannot read the script"):
        memory_agent("scripted:/nowhere.json")
