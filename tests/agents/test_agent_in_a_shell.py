"""`claude` typed in `pmem shell`: the real Claude Code as a guest of the shell's session."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from real_agents import STUCK, Bench, Model, Screen
from whole_runs import PMEM, attempts, counts, steps

pytestmark = pytest.mark.slow

StartModel = Callable[[Sequence[Any]], Model]

#: It builds, looks, and would build again; before that the build failed at the prompt.
SCRIPT = [
    *({"shell": "make build"}, {"shell": "cat Makefile"}, {"shell": "make build"}),
    {"text": "It does not build."},
]
HEADLESS = 'claude -p "build it" --allowedTools Bash'
RC = {
    "bash": (".bashrc", "PS1='$ '"),
    "zsh": (".zshrc", "PS1='$ '"),
    "fish": (
        ".config/fish/config.fish",
        "set -g fish_greeting; function fish_prompt; echo '$ '; end",
    ),
}


def shell(bench: Bench, screen: Callable[..., Screen], name: str, rc: str = "") -> Screen:
    """A recorded shell at its prompt, with Claude Code on PATH."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is missing")
    file, text = RC[name]
    (bench.home / file).parent.mkdir(parents=True, exist_ok=True)
    (bench.home / file).write_text(f"{text}\n{rc}\n")
    env = {"PATH": f"{bench.program.parent}:{bench.env['PATH']}", "PMEM_PATIENCE": "10"}
    opened = screen(bench, [*PMEM, "shell", "--shell", name], env)
    opened.wait("pmem: rules", "\n$")
    return opened


def enter(opened: Screen, line: str, wanted: str) -> None:
    """Enter a line in the shell, and wait for what comes of it."""
    opened.keys("-l", line)
    opened.keys("Enter")
    opened.wait(wanted)


def leave(opened: Screen) -> None:
    enter(opened, "exit", "EXIT=")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_what_failed_in_the_shell_reaches_the_agents_request(
    claude: Callable[..., Bench], model: StartModel, screen: Callable[..., Screen], name: str
) -> None:
    played = model(SCRIPT)
    bench = claude(played)
    opened = shell(bench, screen, name)
    enter(opened, "make build", "Error 1")
    enter(opened, HEADLESS, "It does not build.")
    leave(opened)
    assert counts(played) == [0, 0, 0, 1]
    assert "at steps 1 and 3" in played.bodies()[3]
    assert attempts(bench)["attempts"] == 2
    told = {step["action"]: step for step in steps(bench)}
    assert told["cat Makefile"]["agent_id"].startswith("claude-")
    assert [s.get("agent_id") for s in steps(bench) if s["action"] == "make build"] == [
        None,
        told["cat Makefile"]["agent_id"],
    ]
    assert "agent_id" not in told[HEADLESS] or told[HEADLESS]["agent_id"] is None
    assert "It does not build." not in told[HEADLESS]["observation"]


def test_on_its_own_screen_it_is_what_it_is_and_the_shell_keeps_nothing_of_it(
    claude: Callable[..., Bench], model: StartModel, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    bench = claude(played)
    opened = shell(bench, screen, "bash")
    enter(opened, "make build", "Error 1")
    line = "claude --permission-mode default --allowedTools 'Bash(make:*)' 'Bash(cat:*)'"
    enter(opened, line, "? for shortcuts")
    opened.enter("build it")
    opened.wait("says: [MEMORY REMINDER] `make build` failed twice alike", "It does not build.")
    opened.keys("C-z")  # a job of the shell's, as without pmem
    opened.wait("Stopped")
    enter(opened, "fg", "? for shortcuts")
    opened.enter("/exit")
    opened.wait("Resume this session")
    end = time.monotonic() + STUCK
    while not opened.text().rstrip().endswith("\n$"):  # until then it reads what is typed
        assert time.monotonic() < end, opened.text()
        time.sleep(0.1)
    enter(opened, "echo back $((6*7))", "back 42")
    leave(opened)
    assert counts(played)[3] == 1
    assert all("shortcuts" not in step.get("observation", "") for step in steps(bench))


def test_command_goes_round_and_a_users_own_word_stays(
    claude: Callable[..., Bench], model: StartModel, screen: Callable[..., Screen]
) -> None:
    played = model(SCRIPT)
    bench = claude(played)
    opened = shell(bench, screen, "bash", "codex() { echo my own codex; }; alias pi='echo 3.14'")
    enter(opened, "make build", "Error 1")
    enter(opened, f"command {HEADLESS}", "It does not build.")
    enter(opened, "codex; pi", "my own codex\n3.14")
    enter(opened, "type -t gemini || echo no gemini", "no gemini")
    leave(opened)
    assert counts(played) == [0, 0, 0, 0]
    assert attempts(bench)["attempts"] == 1


#: How each is reached: by its command line, by that and the trust in it, by a home of its own.
WITHOUT_A_SCREEN = {
    "claude": "-p 'build it' --allowedTools Bash",
    "codex": "exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox 'build it'",
    "gemini": "-m gemini-2.5-pro --yolo -p 'build it'",
}


@pytest.mark.parametrize("agent", WITHOUT_A_SCREEN)
def test_inside_any_session_an_agent_is_a_guest(
    agent: str, model: StartModel, request: pytest.FixtureRequest
) -> None:
    played = model([{"shell": "make build"}, *SCRIPT])
    bench: Bench = request.getfixturevalue(agent)(played)
    inner = f"{shlex.join(PMEM)} run {bench.program} {WITHOUT_A_SCREEN[agent]}; echo ended $?"
    done = bench.run([*PMEM, "run", "--", "sh", "-c", inner], {"PMEM_PATIENCE": "10"})
    assert "ended 0" in done.stdout
    assert "already under memory" not in done.stderr
    assert counts(played) == [0, 0, 0, 0, 1]
    (lane,) = {step["agent_id"] for step in steps(bench)}
    assert lane.startswith(f"{agent}-")
    assert len(list((bench.home / ".local/state/pmem").glob("*/*/steps.jsonl"))) == 1
