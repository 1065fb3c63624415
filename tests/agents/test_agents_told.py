"""What the real Qwen Code, opencode, Copilot CLI and pi tell: each call one step, whose it is,
and what the user turned down. A bare socket stands for the session here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from benches import MakeBench, maker
from real_agents import Bench, Ear, Model, Screen
from whole_runs import start

from pmem.agents.registry import get as adapter_of
from pmem.core.event import Finished, Proposed, UserMessage

pytestmark = pytest.mark.slow

StartModel = Callable[[Sequence[Any]], Model]
OpenEar = Callable[..., Ear]


@dataclass(frozen=True)
class Told:
    """An agent's words for what it does.

    `calls` are its tools that write and change a file, its names for file and text, and a change
    that fails; `subagent` is its tool for one; `asking` are the arguments with which it asks
    before it runs something, `ready` and `asks` what its screen shows then, and `no` the chosen
    line that turns it down ("": Escape does).
    """

    name: str
    run: tuple[str, ...]
    calls: tuple[str, str, str, str, Mapping[str, Any]]
    subagent: tuple[str, Mapping[str, Any]] | None = None
    asking: tuple[str, ...] = ()
    ready: str = ""
    asks: str = ""
    no: str = ""
    #: How its last words are told, "" where they are not.
    closing: str = "All done."


LOOK = {"description": "look", "prompt": "look around"}
TOLD = (
    Told(
        "qwen",
        ("--auth-type", "openai", "--approval-mode", "yolo", "-p", "build it"),
        ("write_file", "edit", "file_path", "content", {"old_string": "no", "new_string": "b"}),
        ("agent", {**LOOK, "subagent_type": "general-purpose", "run_in_background": False}),
        asking=("--auth-type", "openai", "--approval-mode", "default"),
        ready="Type your message",
        asks="Waiting for user confirmation",
        # By its source, Escape stops the turn instead until its screen is done with the question,
        # and no hook runs then.
        no="› 4. No",
    ),
    Told(
        "opencode",
        ("run", "build it"),
        ("write", "edit", "filePath", "content", {"oldString": "no", "newString": "b"}),
        ("task", {**LOOK, "subagent_type": "general"}),
        ready="Ask anything",
        asks="Permission required",
    ),
    Told(
        "copilot",
        ("--allow-all-tools", "-s", "-p", "build it"),
        ("create", "edit", "path", "file_text", {"old_str": "no", "new_str": "b"}),
        ("task", {**LOOK, "agent_type": "general-purpose", "name": "x", "mode": "sync"}),
        ready="/ commands",
        asks="No, and tell Copilot",
        closing="",
    ),
    Told(
        "pi",
        ("-p", "build it"),
        ("write", "edit", "path", "content", {"edits": [{"oldText": "no", "newText": "b"}]}),
    ),
)


@dataclass(frozen=True)
class Heard:
    """A bench of an agent, and a session that hears it."""

    agent: Told
    bench: Bench
    session: Ear
    argv: Callable[..., tuple[list[str], dict[str, str]]]


@pytest.fixture
def heard(
    model: StartModel, ear: OpenEar, outside: Path, tmp_path: Path
) -> Callable[[Told, Sequence[Any]], Heard]:
    """Puts an agent in front of a script, with its session."""

    def make(agent: Told, script: Sequence[Any]) -> Heard:
        made: MakeBench = maker(agent.name, outside)
        project = outside / "a" / "project"
        bench = made(model(json.loads(json.dumps(script).replace("@/", f"{project}/"))))
        adapter = type(adapter_of(agent.name))()
        session = ear(adapter)
        return Heard(
            agent, bench, session, lambda *args: start(bench, session, adapter, tmp_path, *args)
        )

    return make


@pytest.mark.parametrize("agent", TOLD, ids=lambda agent: agent.name)
def test_each_call_is_one_step_failing_and_parallel_ones_too(
    agent: Told, heard: Callable[..., Heard]
) -> None:
    write, edit, path, text, change = agent.calls
    it = heard(
        agent,
        [
            {"tool": write, "args": {path: "@/x.txt", text: "hello\n"}},
            {"tool": edit, "args": {path: "@/x.txt", **change}},
            {"shells": ["echo one", "make build"]},
            {"text": "All done."},
        ],
    )
    done = it.bench.run(*it.argv(*agent.run))
    assert done.returncode == 0, done.stderr
    it.session.wait(Finished)
    events, project = it.session.events, str(it.bench.project)
    words = [event for event in events if isinstance(event, UserMessage)]
    assert words == [UserMessage("build it")]
    assert sum(isinstance(event, Proposed) for event in events) == 4
    written, changed, *commands = it.session.steps
    assert (written.kind, bool(written.is_error)) == ("edit", False)
    assert written.action.splitlines()[0].endswith(f" {project}/x.txt")
    assert (changed.kind, changed.is_error, changed.refused) == ("edit", True, False)
    assert sorted((s.action, s.exit_code, s.cwd) for s in commands) == [
        ("echo one", 0, project),
        ("make build", 2, project),
    ]
    (message,) = [event.message for event in events if isinstance(event, Finished)]
    assert message.startswith(agent.closing)


@pytest.mark.parametrize("agent", [t for t in TOLD if t.subagent], ids=lambda agent: agent.name)
def test_a_subagents_steps_are_its_own(agent: Told, heard: Callable[..., Heard]) -> None:
    assert agent.subagent is not None
    tool, task = agent.subagent
    script = [{"tool": tool, "args": task}, {"shell": "make build"}, {"text": "Done."}]
    it = heard(agent, script)
    it.bench.run(*it.argv(*agent.run))
    (build,) = [step for step in it.session.steps if step.action == "make build"]
    assert build.agent_id is not None and build.exit_code == 2
    assert [s.agent_id for s in it.session.steps if s.tool == tool][-1] is None


READS = {
    "copilot": [("view", {"path": "Makefile"})],
    "qwen": [("read_file", {"file_path": "Makefile"})],
}


@pytest.mark.parametrize("agent", [t for t in TOLD if t.asks], ids=lambda agent: agent.name)
def test_a_call_that_the_user_turns_down_is_refused(
    agent: Told, heard: Callable[..., Heard], screen: Callable[..., Screen]
) -> None:
    # A call behind it tells that it is over, also where the end of the turn is never told.
    behind = [{"tool": tool, "args": args} for tool, args in READS.get(agent.name, ())]
    it = heard(agent, [{"shell": "touch x.txt"}, *behind, {"text": "Stopped."}])
    if agent.name == "opencode":
        settings = it.bench.home / ".config" / "opencode" / "opencode.json"
        known = json.loads(settings.read_text())
        settings.write_text(json.dumps({**known, "permission": "ask"}))
    shown = screen(it.bench, *it.argv(*agent.asking))
    shown.wait(agent.ready)
    shown.enter("build it")
    shown.wait(agent.asks)
    if agent.no:
        shown.choose(agent.no)
    else:
        shown.keys("Escape")
    if agent.name == "opencode":
        it.session.wait(Finished)
    else:
        shown.wait(agent.ready)
    shown.enter("leave it")
    shown.wait("Stopped.")
    # Hooks run beside one another: what came behind may be told before it.
    it.session.wait_for("touch x.txt")
    told = [(s.refused, s.exit_code) for s in it.session.steps if s.action == "touch x.txt"]
    assert told == [(True, None)]
    assert not (it.bench.project / "x.txt").exists()
