"""How mini-swe-agent is started behind pmem's script, and what that script does around it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from real_agents import HELD, Ear, nth

from pmem.agents.mini_swe_agent import START, MiniSweAgent, interpreter
from pmem.agents.protocol import HookLine
from pmem.core.event import Finished, Observed, Proposed, UserMessage

HOOK = HookLine("client || exit 0")
BODY = "from minisweagent.run.mini import app\napp()\n"
#: As much of mini-swe-agent as its start script touches.
PACKAGE = {
    "__init__.py": "",
    "exceptions.py": "class Submitted(Exception): pass\n",
    "models.py": """
class Model:
    def query(self, messages, **rest):
        print("asked", [m["content"] for m in messages])
    def format_message(self, **rest):
        return rest
def get_model(): return Model()
""",
    "environments.py": """
import subprocess
from types import SimpleNamespace
from minisweagent.exceptions import Submitted
class Environment:
    config = SimpleNamespace(cwd="")
    def execute(self, action, cwd=""):
        if action["command"] == "submit": raise Submitted()
        ran = subprocess.run(action["command"], shell=True, capture_output=True, text=True)
        return {"output": ran.stdout + ran.stderr, "returncode": ran.returncode}
def get_environment(): return Environment()
""",
    "agents.py": """
from minisweagent.exceptions import Submitted
class Agent:
    def __init__(self, model, environment): self.model, self.environment = model, environment
    def run(self, task):
        for command in ("false", "false", "false", "submit"):
            self.model.query([{"content": task}])
            try:
                print(self.environment.execute({"command": command}))
            except Submitted:
                return {"submission": "done"}
def get_agent(model, environment): return Agent(model, environment)
""",
    "run.py": """
from minisweagent.agents import get_agent
from minisweagent.environments import get_environment
from minisweagent.models import get_model
def app():
    print(get_agent(get_model(), get_environment()).run("build it"))
""",
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A program like mini, beside a package like mini-swe-agent."""
    package = tmp_path / "bin" / "minisweagent"
    package.mkdir(parents=True)
    for name, text in PACKAGE.items():
        (package / name).write_text(text)
    program = tmp_path / "bin" / "mini"
    program.write_text(f"#!{sys.executable}\nfrom minisweagent.run import app\napp()\n")
    program.chmod(0o755)
    return program


def test_it_runs_in_its_own_interpreter_with_its_own_arguments(script: Path) -> None:
    env = {"PATH": str(script.parent)}
    launch = MiniSweAgent().launch("mini", ["-t", "x"], HOOK, script.parent, env)
    assert list(launch.argv) == [sys.executable, str(START), str(script), "-t", "x"]
    assert MiniSweAgent().find(env) == script


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"#!/v/bin/python3 -sE\n{BODY}", ["/v/bin/python3", "-sE"]),
        (f"#!/usr/bin/env python3\n{BODY}", ["/usr/bin/env", "python3"]),
        (f"#!/bin/sh\n'''exec' \"/a b/python\" \"$0\" \"$@\"\n' '''\n{BODY}", ["/a b/python"]),
        (f"#!/bin/sh\n'''exec' /a/python \"$0\" \"$@\"\n' '''\n{BODY}", ["/a/python"]),
        ("#!/usr/bin/python3\nprint()\n", []),
        (f"#!/bin/sh\n# {BODY}", []),
        ("\x7fELF", []),
    ],
)
def test_only_a_script_of_mini_swe_agents_has_an_interpreter(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    program = tmp_path / "mini"
    program.write_text(text)
    assert interpreter(program) == words


def test_another_program_of_that_name_runs_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "mini"
    program.write_text("#!/bin/sh\necho other\n")
    program.chmod(0o755)
    env = {"PATH": str(tmp_path)}
    launch = MiniSweAgent().launch("mini", ["x"], HOOK, tmp_path, env)
    assert list(launch.argv) == ["mini", "x"] and "sees nothing" in launch.remark
    assert MiniSweAgent().find({**env, "HOME": str(tmp_path)}) is None


def run(script: Path, env: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(START), str(script)], env=env, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_each_command_is_told_and_a_held_one_is_not_run(
    script: Path, ear: Callable[..., Ear]
) -> None:
    session = ear(MiniSweAgent(), nth("false", 3, HELD))
    lines = run(script, {**session.env, "PMEM_PATIENCE": "10"})
    assert "[MEMORY REMINDER] make build failed twice alike" in lines[5]
    assert "action was not executed" in lines[5]
    assert lines[-1] == "{'submission': 'done'}"
    first, *calls, last = session.events
    assert first == UserMessage("build it") and last == Finished("done")
    told = [e.action.text for e in calls if isinstance(e, Proposed)]
    assert told == ["false", "false", "false", "submit"]
    ran = [(e.step.action, e.step.exit_code) for e in calls if isinstance(e, Observed)]
    assert ran == [("false", 1), ("false", 1), ("submit", 0)]


def test_without_a_session_it_runs_as_it_is(script: Path, short_dir: Path) -> None:
    bare = run(script, {})
    gone = run(script, {"PMEM_SOCK": str(short_dir / "gone"), "PMEM_TOKEN": "t"})
    assert bare == gone
    assert len(bare) == 8
