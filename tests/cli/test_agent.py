"""`pmem agent`: the paper's loop, with a model on loopback and a real shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from endpoint import Endpoint, Sent, anthropic_answer

from pmem.cli.agent_shell import AgentShell

FACT = "db.h comes from libdb-dev, which is not installed (step 2)."
TOLD = "sh build.sh failed at step 2: db.h is in libdb-dev, not installed."


def words_of(request: Any) -> str:
    return json.dumps(request["messages"], ensure_ascii=False)


class Play:
    """The model: it acts by a list of commands, and keeps the memory."""

    def __init__(self, *commands: str) -> None:
        self.commands = commands
        self.acted = 0

    def __call__(self, request: Any) -> Sent:
        names = [tool["name"] for tool in request.get("tools", ())]
        if "run_command" in names:
            self.acted += 1
            if self.acted <= len(self.commands):
                command = self.commands[self.acted - 1]
                return anthropic_answer("next", ("run_command", {"command": command}))
            return anthropic_answer("All done.")
        said = words_of(request)
        if "Now decide" in said:
            silent = "db.h: No such file" not in said or "Reminders so far" in said
            note = f'<context_for_action entries="db">{TOLD}</context_for_action>'
            return anthropic_answer("<no_intervention/>" if silent else note)
        if "db.h: No such file" in said and "[db]" not in said:
            return anthropic_answer("", ("memory_save_knowledge", {"id": "db", "content": FACT}))
        return anthropic_answer("", ("memory_update_status", {"content": "at work"}))


@pytest.fixture
def serving() -> Iterator[Callable[[Play], Endpoint]]:
    made: list[Endpoint] = []

    def make(play: Play) -> Endpoint:
        made.append(Endpoint(play))
        return made[-1]

    yield make
    for endpoint in made:
        endpoint.close()


def run(project: Path, endpoint: Endpoint, *args: str, typed: str = "") -> Any:
    return subprocess.run(
        [sys.executable, "-m", "pmem", "agent", "--model", "anthropic:m", *args],
        cwd=project,
        env={**os.environ, "PMEM_BASE_URL": endpoint.url},
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
    )


def acting(endpoint: Endpoint) -> list[str]:
    """The requests of the acting model, as text."""
    return [
        words_of(r) for r in endpoint.requests
        if any(t["name"] == "run_command" for t in r.get("tools", ()))
    ]  # fmt: skip


@pytest.fixture
def broken(project: Path) -> Path:
    (project / "build.sh").write_text(
        "echo 'main.c:3: fatal error: db.h: No such file' >&2\nexit 2\n"
    )
    return project


def test_the_reminder_stands_in_exactly_one_request_and_on_the_screen_before_the_action(
    broken: Path, serving: Callable[[Play], Endpoint]
) -> None:
    endpoint = serving(Play("sh build.sh", "echo looking", "touch fixed"))
    done = run(broken, endpoint, "--yes", "make the build pass")
    assert done.returncode == 0, done.stderr
    assert "All done." in done.stdout
    assert [TOLD in request for request in acting(endpoint)].count(True) == 1
    assert TOLD in acting(endpoint)[1]
    assert done.stdout.index("[MEMORY REMINDER]") < done.stdout.index("$ echo looking")
    assert (broken / "fixed").exists()
    bank = subprocess.run(
        [sys.executable, "-m", "pmem", "bank", "list", "--json"],
        cwd=broken, capture_output=True, text=True, check=True,
    )  # fmt: skip
    listed = json.loads(bank.stdout)
    assert listed["knowledge"][0]["content"] == FACT
    assert any(e["command"] == "sh build.sh" for e in listed["procedural"])


def test_the_acting_model_s_conversation_only_grows(
    broken: Path, serving: Callable[[Play], Endpoint]
) -> None:
    endpoint = serving(Play("echo one", "echo two", "echo three"))
    run(broken, endpoint, "--yes", "--arm", "rules", "count")
    talks = [r["messages"] for r in endpoint.requests]
    for earlier, later in pairwise(talks):
        assert later[: len(earlier)] == earlier


def test_without_a_terminal_and_without_yes_nothing_runs(
    broken: Path, serving: Callable[[Play], Endpoint]
) -> None:
    endpoint = serving(Play("touch ran"))
    done = run(broken, endpoint, "do it")
    assert done.returncode == 2 and "--yes" in done.stderr
    assert endpoint.requests == [] and not (broken / "ran").exists()


def test_it_asks_before_it_runs_and_tells_what_the_user_says(
    broken: Path, serving: Callable[[Play], Endpoint]
) -> None:
    import pexpect

    endpoint = serving(Play("touch one", "touch two", "touch three"))
    child = pexpect.spawn(
        sys.executable,
        ["-m", "pmem", "agent", "--model", "anthropic:m", "--arm", "rules", "touch things"],
        cwd=str(broken),
        env={**os.environ, "PMEM_BASE_URL": endpoint.url},  # type: ignore[arg-type]
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 160),
    )
    child.expect("It is sent the task")
    child.expect(r"\[y/N\] ")
    child.sendline("y")
    for file, answer in (("one", ""), ("two", "n"), ("three", "use mkdir instead")):
        child.expect(f"touch {file}")
        child.expect("run it\\?")
        child.sendline(answer)
    child.expect("All done")
    child.expect("you> ")
    child.sendline("")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert (broken / "one").exists()
    assert not (broken / "two").exists() and not (broken / "three").exists()
    assert "use mkdir instead" in acting(endpoint)[-1]


def test_a_held_command_runs_when_it_is_proposed_again(
    broken: Path, serving: Callable[[Play], Endpoint]
) -> None:
    endpoint = serving(Play(*["sh build.sh"] * 4))
    done = run(broken, endpoint, "--yes", "--arm", "rules", "make the build pass")
    assert "not run yet" in acting(endpoint)[3]
    lines = done.stdout.splitlines()
    assert lines.count("main.c:3: fatal error: db.h: No such file") == 3


class Odd(Play):
    """It calls what is not there and leaves the command out, and has nothing to say at the end."""

    def __call__(self, request: Any) -> Sent:
        if "not done: the one tool" in words_of(request):
            return anthropic_answer("")
        calls = [("rm", {"path": "x"}), ("run_command", {}), ("run_command", {"command": 3})]
        return anthropic_answer("", *calls)


def test_calls_that_mean_nothing_are_answered_and_an_empty_answer_is_no_success(
    broken: Path, serving: Callable[[Play], Endpoint]
) -> None:
    endpoint = serving(Odd())
    done = run(broken, endpoint, "--yes", "--arm", "rules", "do it")
    assert (done.returncode, done.stdout) == (125, "")
    assert "anthropic:m gave an empty answer" in done.stderr
    [_, last] = acting(endpoint)
    assert last.count("not done: the one tool is run_command") == 3


def test_steps_have_their_limit(broken: Path, serving: Callable[[Play], Endpoint]) -> None:
    done = run(
        broken, serving(Play(*["echo on"] * 9)), "--yes", "--arm", "rules", "--steps", "3", "x"
    )
    assert done.returncode == 1
    assert "stopped after 3 steps" in done.stderr
    assert len(re.findall(r"^on$", done.stdout, re.M)) == 3


@pytest.mark.parametrize(("args", "words"), [([], "there is no task"), (["x"], "no model")])
def test_what_is_missing_is_told(project: Path, args: list[str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pmem", "agent", *args],
        cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and words in done.stderr


# --- the shell --------------------------------------------------------------------------------


@pytest.fixture
def shell(project: Path) -> Iterator[AgentShell]:
    made = AgentShell(os.environ, project)
    yield made
    made.close()


def test_the_shell_keeps_directory_and_variables(shell: AgentShell, project: Path) -> None:
    (project / "sub").mkdir()
    shell.run("cd sub; X='a  b'", 30)
    ran = shell.run('pwd; echo "$X"', 30)
    assert ran.output.split("\n")[:2] == [str((project / "sub").resolve()), "a  b"]
    assert ran.cwd == str((project / "sub").resolve())


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("echo hi", "hi", 0),
        ("false", "", 1),
        ("printf 'no newline'", "no newline", 0),
        ("cat <<'X'\n$HOME \"quoted\"\nX", '$HOME "quoted"', 0),
        ("echo 가나다; exit 3", "가나다", 3),
        ("if", None, None),
        ("printf '%s' " + "x" * 9000 + " | wc -c", "9000", 0),
    ],
)
def test_any_command_comes_back_whole(
    shell: AgentShell, command: str, output: str | None, code: int | None
) -> None:
    ran = shell.run(command, 30)
    if code is not None:
        assert ran.exit_code == code
        assert ran.output.strip() == output
    assert shell.run("echo still here", 30).output.strip() == "still here"


def test_a_command_that_hangs_is_broken_off(shell: AgentShell) -> None:
    ran = shell.run("echo begun; sleep 300", 1.0)
    assert ran.exit_code is None
    assert "begun" in ran.output and "broken off" in ran.output
    assert shell.run("echo still here", 30).output.strip() == "still here"
