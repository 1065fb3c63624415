"""What pmem's plug-ins tell, as events and answers; and how each of them is brought in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pmem.agents.opencode import PLUGIN, VARIABLE, Opencode
from pmem.agents.pi import Pi
from pmem.agents.plugin_json import PluginEvents
from pmem.agents.protocol import HookLine
from pmem.agents.tool_calls import Tools
from pmem.core.decision import HEADER, Reminder
from pmem.core.event import (
    SILENT,
    Answer,
    Compacting,
    Ended,
    Event,
    Finished,
    Observed,
    Proposed,
    Started,
    UserMessage,
)
from pmem.core.step import Action, Step

ANSWER = Answer(Reminder("make failed twice alike.", ("make",), "r", "c"))
HOOK = HookLine("client || exit 0")
TOOLS = Tools(commands={"bash"}, edits={"edit"}, reads={"read"}, directory="workdir")


def said(event: str, **rest: Any) -> bytes:
    return json.dumps({"event": event, "session": "s", "cwd": "/p", **rest}).encode()


def make(**rest: Any) -> dict[str, Any]:
    return {"tool": "bash", "id": "c1", "args": {"command": "make", **rest.pop("args", {})}, **rest}


def the_step(events: list[Event]) -> Step:
    (event,) = events
    assert isinstance(event, Observed)
    return event.step


@pytest.fixture
def plugin() -> PluginEvents:
    return PluginEvents(TOOLS)


@pytest.mark.parametrize(
    ("told", "event"),
    [
        (said("started", how="clear"), Started("clear")),
        (said("started", how="?"), Started("startup")),
        (said("user", text="build it"), UserMessage("build it")),
        (said("proposed", **make(args={"workdir": "web"})),
         Proposed(Action("command", "make", "/p/web", "bash", "c1"))),
        (said("proposed", tool="edit", id="c2", args={"filePath": "a", "newString": "x"}),
         Proposed(Action("edit", "edit a\n--- new\nx", "/p", "edit", "c2"))),
        (said("proposed", tool="read", args={"filePath": "a"}),
         Proposed(Action("read", "read a", "/p", "read"))),
        (said("proposed", tool="mcp_x", args={"n": 1}),
         Proposed(Action("tool", 'mcp_x {"n": 1}', "/p", "mcp_x"))),
        (said("finished", message="done", agent_id="a"), Finished("done", "a")),
        (said("ended"), Ended()),
    ],
)  # fmt: skip
def test_each_documented_event_is_read(plugin: PluginEvents, told: bytes, event: Event) -> None:
    assert plugin.events(told) == [event]


def test_a_command_that_failed_is_one_step_however_often_it_is_told(plugin: PluginEvents) -> None:
    plugin.events(said("proposed", **make()))
    end = said("observed", **make(output="no rule", exit_code=2, seconds=0.5))
    step = the_step(plugin.events(end))
    assert (step.action, step.observation, step.exit_code, step.seconds, step.call_id) == (
        *("make", "no rule", 2, 0.5, "c1"),
    )
    assert plugin.events(end) == []


def test_a_refused_call_and_an_error_are_told_apart(plugin: PluginEvents) -> None:
    step = the_step(plugin.events(said("observed", **make(refused=True, is_error=True))))
    assert (step.refused, step.is_error, step.exit_code) == (True, True, None)
    call = {"tool": "edit", "id": "c3", "args": {}, "exit_code": 1, "is_error": True}
    step = the_step(plugin.events(said("observed", **call)))
    assert (step.kind, step.refused, step.is_error, step.exit_code) == ("edit", False, True, None)


def test_calls_of_two_trajectories_do_not_meet(plugin: PluginEvents) -> None:
    plugin.events(said("proposed", **make()))
    plugin.events(said("proposed", agent_id="a", **make(args={"command": "ls"})))
    assert the_step(plugin.events(said("observed", agent_id="a", **make()))).action == "ls"
    assert the_step(plugin.events(said("observed", **make()))).action == "make"


def test_a_held_call_is_no_step(plugin: PluginEvents) -> None:
    proposed = said("proposed", **make())
    plugin.events(proposed)
    answer = json.loads(plugin.answer(proposed, Answer(ANSWER.reminder, hold=True)))
    assert answer["hold"] is True
    assert answer["reminder"].startswith(f"{HEADER} make failed")
    assert answer["banner"].startswith(f"{HEADER} make failed")
    assert plugin.events(said("observed", **make(is_error=True))) == []
    assert plugin.events(said("finished", message="ok")) == [Finished("ok")]


def test_a_call_whose_end_is_never_told_was_turned_down(plugin: PluginEvents) -> None:
    plugin.events(said("proposed", **make()))
    first, _ = plugin.events(said("finished"))
    assert isinstance(first, Observed) and first.step.refused


def test_silence_is_nothing(plugin: PluginEvents) -> None:
    assert plugin.answer(said("proposed", **make()), SILENT) == b""


@pytest.mark.parametrize("odd", [b"", b"[]", b"\xff"])
def test_what_cannot_be_read_is_refused_with_a_value_error(
    plugin: PluginEvents, odd: bytes
) -> None:
    with pytest.raises(ValueError):
        plugin.events(odd)


@pytest.mark.parametrize("odd", [said("?"), said("observed"), said("proposed", args=3)])
def test_fields_that_are_missing_are_no_reason_to_fail(plugin: PluginEvents, odd: bytes) -> None:
    plugin.events(odd)


# -- opencode ----------------------------------------------------------------------------------


def test_opencode_gets_the_plugin_behind_the_users_own(tmp_path: Path) -> None:
    own = json.dumps({"model": "a/b", "plugin": ["theirs"]})
    launch = Opencode().launch("opencode", ["run", "x"], HOOK, tmp_path, {VARIABLE: own})
    assert list(launch.argv) == ["opencode", "run", "x"]
    config = json.loads(launch.env[VARIABLE])
    assert config == {"model": "a/b", "plugin": ["theirs", PLUGIN.as_uri()]}
    assert PLUGIN.is_file() and PLUGIN.with_name("wire.mjs").is_file()


@pytest.mark.parametrize("own", ["{", "[]", '{"plugin": "x"}'])
def test_opencode_settings_that_cannot_be_merged_are_refused(tmp_path: Path, own: str) -> None:
    with pytest.raises(ValueError, match=VARIABLE):
        Opencode().launch("opencode", [], HOOK, tmp_path, {VARIABLE: own})


@pytest.mark.parametrize("args", [["models"], ["--version"], ["session", "list"]])
def test_opencode_subcommands_pass_untouched(tmp_path: Path, args: list[str]) -> None:
    launch = Opencode().launch("opencode", args, HOOK, tmp_path, {})
    assert (list(launch.argv), launch.env, launch.remark) == (["opencode", *args], {}, "")


def test_opencode_without_plugins_is_told(tmp_path: Path) -> None:
    launch = Opencode().launch("opencode", ["--pure"], HOOK, tmp_path, {})
    assert "--pure" in launch.remark and not launch.env


# -- pi ----------------------------------------------------------------------------------------


def test_pi_gets_the_extension_beside_the_users_own(tmp_path: Path) -> None:
    launch = Pi().launch("pi", ["-e", "own.ts", "-p", "x"], HOOK, tmp_path, {})
    program, option, extension, *rest = launch.argv
    assert (program, option, rest) == ("pi", "-e", ["-e", "own.ts", "-p", "x"])
    assert Path(extension).is_file()


@pytest.mark.parametrize("args", [["install", "x"], ["--version"], ["--list-models"]])
def test_pi_subcommands_pass_untouched(tmp_path: Path, args: list[str]) -> None:
    assert list(Pi().launch("pi", args, HOOK, tmp_path, {}).argv) == ["pi", *args]


def test_a_resumed_conversation_tells_its_past(plugin: PluginEvents) -> None:
    made = {"event": "observed", "tool": "bash", "id": "1", "args": {"command": "make"}}
    past = [
        {"event": "user", "text": "build it", "at": 5.0},
        {**made, "exit_code": 2, "output": "no", "at": 6},
        {"event": "compacted", "summary": "we built"},
        *({"event": "finished"}, "nonsense", {"event": "started", "how": "clear"}),
    ]
    [began] = plugin.events(said("started", how="resume", past=past, cwd="/shop"))
    assert isinstance(began, Started)
    assert [(s.kind, s.action, s.exit_code, s.started) for s in began.past[:2]] == [
        ("user", "", None, 5.0),
        ("command", "make", 2, 6),
    ]
    assert (began.past[1].cwd, began.past[1].call_id) == ("/shop", "1")
    assert [(s.kind, s.observation) for s in began.past[2:]] == [("compaction", "we built")]
    assert plugin.events(said("started", how="resume", past="odd")) == [Started("resume")]


def test_a_compaction_is_told_before_and_after_and_may_be_answered_at_once(
    plugin: PluginEvents,
) -> None:
    assert plugin.events(said("compacting")) == [Compacting()]
    step, goes_on = plugin.events(said("compacted", summary="we built"))
    assert isinstance(step, Observed) and step.step.observation == "we built"
    assert goes_on == Started("compact")
