"""`pmem replay --model`: a model, a program or a script plays memory, with all of it on disk."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from pmem.core.step import Step

Call = Callable[..., Any]
TOLD = "step 2: db.h comes from libdb-dev, which is not installed"
#: Keeps a fact when it sees the build fail, and says it; counts its calls in $COUNT.
PROGRAM = """#!/bin/sh
prompt=$(cat)
echo x >> COUNT
case "$PMEM_PHASE/$prompt" in
  */*"step 2: command"*"step 3: command"*) ;;
  manage/*"db.h: No such file"*)
    echo '<tool_call>{"name": "memory_save_knowledge", "arguments": {"id": "db", "content": "TOLD"}}</tool_call>' ;;
  decide/*"db.h: No such file"*)
    echo '<context_for_action entries="db">TOLD</context_for_action>' ;;
esac
"""  # noqa: E501


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A build that fails at step 2, and quiet work up to step 12."""
    steps = [("ls", "Makefile\n", 0), ("make", "fatal error: db.h: No such file\n", 2)]
    steps += [(f"touch f{n}", "", 0) for n in range(3, 13)]
    lines: list[dict[str, Any]] = [{"task": "Make the build pass.", "agent": "x"}]
    for n, (action, output, code) in enumerate(steps, start=1):
        step = Step(n, "command", action, output, exit_code=code, cwd="/p", started=1e9 + n)
        lines.append(step.to_json())
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return script(tmp_path, PROGRAM.replace("TOLD", TOLD))


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "play.sh"
    path.write_text(text.replace("COUNT", str(tmp_path / "count")))
    path.chmod(0o755)
    return path


def asked(tmp_path: Path) -> int:
    count = tmp_path / "count"
    return len(count.read_text().split()) if count.exists() else 0


def test_a_program_plays_and_every_prompt_and_answer_is_on_disk(
    pmem: Call, run: Path, program: Path, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    told = pmem(
        "replay", str(run), "--model", f"command:{program}", "--prompts-to", str(calls), "--json"
    )
    assert told.code == 0, told.err
    replayed = json.loads(told.out)
    said = [d for d in replayed["decisions"] if d["decision"] == "remind"]
    assert [(d["before_step"], d["text"], d["reason"]) for d in said] == [(3, TOLD, "model")]
    assert [entry["id"] for entry in replayed["bank"]["knowledge"]] == ["db"]
    prompts = sorted(p.name for p in calls.glob("*-prompt.txt"))
    answers = sorted(p.name for p in calls.glob("*-answer.txt"))
    assert len(prompts) == len(answers) == asked(tmp_path) == replayed["model"]["calls"]
    assert prompts[0] == "0001-manage-prompt.txt"
    assert "Make the build pass." in (calls / prompts[0]).read_text()
    assert any(TOLD in (calls / name).read_text() for name in answers)


def test_what_was_answered_is_not_asked_again(
    pmem: Call, run: Path, program: Path, tmp_path: Path
) -> None:
    def play() -> Any:
        args = ("--model", f"command:{program}", "--prompts-to", str(tmp_path / "calls"))
        return pmem("replay", str(run), *args, "--json")

    first = play()
    count = asked(tmp_path)
    again = play()
    assert asked(tmp_path) == count > 2
    decisions = [json.loads(said.out)["decisions"] for said in (first, again)]
    for one in decisions:
        for decision in one:
            decision.pop("ms")
    assert decisions[0] == decisions[1]
    assert f"{count} calls ({count} answered on disk)" in again.err


def test_a_person_can_play_by_way_of_two_files(
    pmem: Call, run: Path, home: Path, tmp_path: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
    program = tmp_path / "by-hand.sh"
    program.write_text(page.split("```sh\n")[1].split("```")[0].replace("sleep 1", "sleep 0.02"))
    program.chmod(0o755)
    question, answer = home / "asked.txt", home / "answer.txt"
    over = threading.Event()

    def person() -> None:
        while not over.wait(0.02):
            if question.exists() and not answer.exists():
                answer.write_text("{}\n")

    hand = threading.Thread(target=person)
    hand.start()
    try:
        said = pmem("replay", str(run), "--model", f"command:{program}", "--arm", "advisor")
    finally:
        over.set()
        hand.join()
    assert said.code == 0 and "failed" not in said.err
    assert int(said.err.split("pmem: ")[1].split(" calls")[0]) > 2
    assert "Make the build pass." in question.read_text()


def test_a_call_that_failed_is_silence_is_told_and_is_asked_again(
    pmem: Call, run: Path, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    text = "#!/bin/sh\ncat > /dev/null; echo x >> COUNT\n"
    text += f"[ -e {once} ] || {{ touch {once}; exit 3; }}\n"
    args = ("--model", f"command:{script(tmp_path, text)}", "--prompts-to", str(tmp_path / "calls"))
    first = pmem("replay", str(run), *args)
    assert first.code == 0
    assert "1 call failed and counted as silence" in first.err and "ended with 3" in first.err
    before = asked(tmp_path)
    again = pmem("replay", str(run), *args)
    assert "failed and counted" not in again.err
    assert asked(tmp_path) > before


def test_a_line_cut_off_by_a_kill_loses_nothing_else(
    pmem: Call, run: Path, program: Path, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    args = ("replay", str(run), "--model", f"command:{program}", "--prompts-to", str(calls))
    pmem(*args)
    count = asked(tmp_path)
    log = calls / "calls.jsonl"
    log.write_text(log.read_text()[:-30])
    assert pmem(*args).code == 0
    assert asked(tmp_path) == count + 1
    assert pmem(*args).code == 0
    assert asked(tmp_path) == count + 1


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--model", "command:/nowhere/to/be/found"), "cannot run /nowhere"),
        (("--model", "anthropic:claude-sonnet-4-5"), "not asked before you say yes; add --yes"),
        (("--model", "command:claude-code"), "not asked before you say yes; add --yes"),
        (("--model", "wizard:x"), "wizard"),
        (("--model", "scripted:/nowhere.json"), "cannot read the script"),
        (("--model", "command:true", "--prompts-to", "/dev/null"), "cannot use /dev/null"),
        (("--arm", "selective"), "needs a model"),
        (("--arm", "rules", "--model", "command:true"), "the arm rules has no model"),
        (("--arm", "bank", "--pure", "--model", "command:true"), "pure is a form of"),
        (("--here", "--model", "command:true"), "name recorded runs"),
    ],
)
def test_misuse_is_said_in_a_sentence(
    pmem: Call, run: Path, args: tuple[str, ...], word: str
) -> None:
    said = pmem("replay", str(run), *args)
    assert said.code != 0 and said.out == ""
    assert word in said.err and "Traceback" not in said.err


def test_a_provider_without_a_key_ends_the_replay_with_its_sentence(
    pmem: Call, run: Path, project: Path
) -> None:
    said = pmem("replay", str(run), "--model", "anthropic:claude-sonnet-4-5", "--yes")
    assert said.code == 125 and "ANTHROPIC_API_KEY" in said.err


def test_ctrl_c_stops_and_the_next_run_goes_on_where_it_was(
    run: Path, project: Path, home: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    text = PROGRAM.replace("TOLD", TOLD) + (
        "[ $(wc -l < COUNT) -lt 4 ] || "
        f'for n in $(seq 1200); do [ -e "{gate}" ] && break; sleep 0.05; done\n'
    )
    calls = tmp_path / "calls"
    args = ["-m", "pmem", "replay", str(run), "--model", f"command:{script(tmp_path, text)}"]
    args += ["--prompts-to", str(calls)]
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root), "HOME": str(home)}

    child = pexpect.spawn(sys.executable, args, cwd=project, env=env, timeout=30, encoding="utf-8")
    child.expect(r"step \d+ of 12, 3 calls")
    while asked(tmp_path) < 4:
        child.expect([r"step \d+ of 12", pexpect.TIMEOUT], timeout=0.1)
    child.sendintr()
    child.expect(r"stopped by Ctrl-C; the answers are in .*the same command goes on")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert len(list(calls.glob("*-answer.txt"))) == 3

    gate.touch()
    child = pexpect.spawn(sys.executable, args, cwd=project, env=env, timeout=30, encoding="utf-8")
    child.expect(r"(\d+) calls \(3 answered on disk\)")
    assert isinstance(child.match, re.Match)
    total = int(child.match[1])
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert asked(tmp_path) == total + 1  # the one that was stopped was asked twice
    assert len(list(calls.glob("*-answer.txt"))) == total


def test_why_an_answer_was_not_said_is_told(pmem: Call, run: Path, tmp_path: Path) -> None:
    says = "echo '<context_for_action>It needs db.h.</context_for_action>'"
    program = script(tmp_path, f"#!/bin/sh\n{says}\n")
    said = pmem("replay", str(run), "--model", f"command:{program}")
    assert "0 reminders" in said.out
    assert re.findall(r"^  silent (.*)$", said.out, re.M) == [
        "4 times: it stands on no entry of the bank"
    ]
