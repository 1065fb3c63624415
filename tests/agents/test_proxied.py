"""What the model proxy tells, as events; and what agents make of results, taken apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pmem.agents.code_mode import nested
from pmem.agents.proxied import PROXIED
from pmem.agents.registry import get, installed, known
from pmem.agents.results import results
from pmem.core.decision import Reminder
from pmem.core.event import Answer, Finished, Observed, Proposed, Started, UserMessage
from pmem.core.step import Action

FAILED = "main.c:3: fatal error"


def told(*events: dict[str, Any], lane: str | None = None) -> bytes:
    return json.dumps({"lane": lane, "cwd": "/p", "events": list(events)}).encode()


def test_events_in_their_order() -> None:
    call = {"id": "1", "tool": "bash", "given": {"command": "make", "workdir": "api"}}
    events = PROXIED.events(
        told(
            {"event": "user", "text": "go"},
            {"event": "proposed", **call},
            {"event": "observed", **call, "output": f"Exit code 2\n{FAILED}", "failed": True},
            {"event": "finished", "message": "done"},
            {"event": "unheard of"},
            lane="s",
        )
    )
    said, proposed, observed, finished = events
    assert (said, finished) == (UserMessage("go", "s"), Finished("done", "s"))
    assert proposed == Proposed(Action("command", "make", "/p/api", "bash", "1"), "s")
    assert isinstance(observed, Observed)
    step = observed.step
    assert (step.action, step.observation, step.exit_code) == ("make", FAILED, 2)
    assert (step.cwd, step.call_id, step.is_error, step.agent_id) == ("/p/api", "1", True, "s")


def test_a_resumed_conversation_and_a_compaction() -> None:
    past = [
        {"event": "user", "text": "go"},
        {"event": "proposed", "tool": "bash", "given": {"command": "ls"}},
        {"event": "observed", "tool": "bash", "given": {"command": "ls"}, "output": "a"},
    ]
    (resumed,) = PROXIED.events(told({"event": "resumed", "past": past}))
    assert isinstance(resumed, Started) and resumed.how == "resume"
    assert [(step.kind, step.action) for step in resumed.past] == [("user", ""), ("command", "ls")]
    compaction, goes_on = PROXIED.events(told({"event": "compacted", "summary": "so far"}))
    assert isinstance(compaction, Observed) and compaction.step.observation == "so far"
    assert goes_on == Started("compact")


@pytest.mark.parametrize(
    ("tool", "given", "kinds"),
    [
        ("Bash", {"command": "ls"}, [("command", "ls")]),
        ("run_commands", {"commands": ["ls", "pwd"]}, [("command", "ls"), ("command", "pwd")]),
        ("shell", {"command": ["bash", "-lc", "ls -l"]}, [("command", "ls -l")]),
        ("shell", {"action": 1}, [("tool", 'shell {"action": 1}')]),
        ("Edit", {"file_path": "a.c", "old_string": "x", "new_string": "y"},
         [("edit", "Edit a.c\n--- old\nx\n--- new\ny")]),
        ("read_file", {"path": "a.c"}, [("read", "read_file a.c")]),
        ("apply_patch", "*** Begin Patch", [("edit", "apply_patch *** Begin Patch")]),
        ("exec", 'await tools.exec_command({cmd: "make \\"x\\"", workdir: "/p"})',
         [("command", 'make "x"')]),
        ("exec", "text(1 + 1)", [("tool", "exec text(1 + 1)")]),
    ],
)  # fmt: skip
def test_a_call_as_actions(tool: str, given: Any, kinds: list[tuple[str, str]]) -> None:
    events = PROXIED.events(told({"event": "proposed", "tool": tool, "given": given}))
    assert [(e.action.kind, e.action.text) for e in events if isinstance(e, Proposed)] == kinds


def test_code_mode_calls_in_each_kind_of_quotes() -> None:
    code = "const a = await tools.exec_command({ 'cmd': 'it\\'s', }); tools.apply_patch(`x\\ny`)"
    assert nested(code) == [("exec_command", {"cmd": "it's"}), ("apply_patch", "x\ny")]
    assert nested("tools.exec_command({cmd: command})") == [("exec_command", {})]


GEMINI = f"Output: {FAILED}\nExit Code: 2\nProcess Group PGID: 7"


@pytest.mark.parametrize(
    ("text", "failed", "found"),
    [
        (f"Exit code 2\n{FAILED}", True, (FAILED, 2)),
        ("fine", False, ("fine", 0)),
        ("fine", None, ("fine", None)),
        (f"Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\n{FAILED}",
         None, (FAILED, 2)),
        (f"Exit code: 2\nWall time: 0 seconds\nOutput:\n{FAILED}", None, (FAILED, 2)),
        (json.dumps({"returncode": 2, "output": FAILED}), None, (FAILED, 2)),
        (json.dumps({"output": FAILED, "metadata": {"exit_code": 2}}), None, (FAILED, 2)),
        ("Script completed\nWall time 0.1 seconds\nOutput:\n"
         + json.dumps({"exit_code": 2, "output": FAILED}), None, (FAILED, 2)),
        (f"<untrusted_context>\n{GEMINI}\n</untrusted_context>", None, (FAILED, 2)),
        ("Output: (empty)\nProcess Group PGID: 7", None, ("", 0)),
        (f"Command: make\nDirectory: (root)\nOutput: {FAILED}\nError: (none)\nExit Code: 2\n"
         "Signal: (none)", None, (FAILED, 2)),
        ("Output: x\nSignal: 9", None, ("x", 137)),
        (f"<returncode>2</returncode>\n<output>\n{FAILED}</output>", None, (FAILED, 2)),
        (f"{FAILED}\n<shellId: 0 completed with exit code 2>", None, (FAILED, 2)),
        (json.dumps([{"query": "make", "result": f"[Command exited with code 2]\n{FAILED}",
                      "success": False}]), None, (FAILED, 2)),
        ('{"name": "a file\'s own JSON"}', None, ('{"name": "a file\'s own JSON"}', None)),
        ("{", None, ("{", None)),
    ],
)  # fmt: skip
def test_output_and_exit_code_in_the_words_of_each_agent(
    text: str, failed: bool | None, found: tuple[str, int | None]
) -> None:
    (ran,) = results(text, failed)
    assert (ran.output, ran.exit_code) == found


def test_several_commands_of_one_call_each_with_its_own_result() -> None:
    both = [{"query": c, "result": c, "success": c == "a"} for c in "ab"]
    assert [(r.output, r.exit_code, r.failed) for r in results(json.dumps(both), None, 2)] == [
        ("a", 0, False),
        ("b", None, True),
    ]
    (ran,) = results("in one piece", None, 2)
    assert ran.output == "in one piece"


def test_the_answer_is_the_words_for_the_model() -> None:
    reminder = Reminder("make failed twice.", ("make",), "r", "c")
    assert PROXIED.answer(b"{}", Answer(reminder)).startswith(b"[MEMORY REMINDER] make failed")
    assert PROXIED.answer(b"{}", Answer()) == b""
    assert PROXIED.answer(b"{}", Answer(reminder, audience="human")) == b""


def test_who_speaks_for_the_proxy_is_no_program_that_can_be_started(home: Any) -> None:
    assert get("pmem-proxy") is PROXIED
    assert known("pmem-proxy") == "generic" and known("proxy") == "generic"
    assert PROXIED not in [adapter for adapter, _ in installed({"PATH": str(home)})]


@pytest.mark.parametrize("text", ["<" * 200_000, "<a" * 100_000, "\n" * 200_000])
def test_a_result_that_begins_much_is_read_in_a_moment(text: str) -> None:
    (ran,) = results(text, None)
    assert ran.exit_code is None
