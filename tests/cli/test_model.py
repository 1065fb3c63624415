"""A model behind a run, from the command line: consent, sync and async, limits, what is shown."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from model_bench import FACT, TOLD, Bench

from pmem.store.project import find_project


@pytest.fixture
def bench(project: Path, tmp_path: Path) -> Bench:
    return Bench(project, tmp_path)


def heard(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if "[MEMORY REMINDER]" in line]


def test_without_a_yes_no_model_is_asked_and_one_line_says_how(bench: Bench) -> None:
    printed = bench.play(f"model=command:{bench.model}", once=True)
    assert bench.asked == [] and heard(printed) == []
    assert "rules only" in bench.words and "pmem config consent yes" in bench.words


def test_with_sync_the_reminder_comes_with_the_failing_step_itself(bench: Bench) -> None:
    printed = bench.play(f"model=command:{bench.model}", "yes=1", "mode=sync", once=True)
    [line] = heard(printed)
    assert line == f"observed make -> [MEMORY REMINDER] {TOLD}"
    assert "manage" in bench.asked and "decide" in bench.asked
    listed = json.loads(bench.pmem("bank", "list", "--json").stdout)
    assert listed["knowledge"][0]["content"] == FACT


def test_with_async_it_comes_with_a_later_event_and_nobody_waited(bench: Bench) -> None:
    printed = bench.play(f"model=command:{bench.model}", "yes=1")
    [line] = heard(printed)
    assert "observed ls part" in line and TOLD in line


def test_a_yes_holds_for_the_next_run(bench: Bench) -> None:
    model = f"command:{bench.model}"
    assert bench.pmem("config", "model", model).returncode == 0
    assert bench.pmem("config", "consent").stdout == "no\n"
    said = bench.pmem("config", "consent", "yes")
    assert "may be asked" in said.stderr and "It is sent the task" in said.stderr
    words = " ".join(said.stderr.split())  # without a price money is not limited
    assert "at most 2,000,000 tokens a session and 10,000,000 tokens a day)" in words
    assert bench.pmem("config", "consent").stdout == "yes\n"
    assert heard(bench.play("mode=sync", once=True))
    bench.pmem("config", "consent", "no")
    assert not heard(bench.play("mode=sync", once=True))


def test_calls_tokens_and_the_raw_prompt_are_shown(bench: Bench) -> None:
    bench.play(f"model=command:{bench.model}", "yes=1", "mode=sync", once=True)
    [session] = json.loads(bench.pmem("status", "--json").stdout)["sessions"]
    assert session["model"]["calls"] == len(bench.asked)
    assert 0 < session["model"]["silence"] < 1
    shown = bench.pmem("log", "--decisions").stdout
    number = next(d["model"]["calls"][-1] for d in bench.decisions if d["decision"] == "remind")
    assert f"{number};" in shown
    raw = bench.pmem("log", "--call", str(number)).stdout
    assert "fatal error: db.h" in raw and TOLD in raw and "When to speak" in raw
    assert bench.pmem("log", "--call", "999").returncode == 1


def test_nothing_that_looks_like_a_secret_is_sent_or_kept(bench: Bench) -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    (bench.project / "AGENTS.md").write_text(f"Use the token {token} for pushes.\n")
    bench.model.write_text("#!/bin/sh\ncat >> \"$LOG\"; echo '<no_intervention/>'\n")
    bench.play(f"model=command:{bench.model}", "yes=1", "mode=sync", once=True)
    assert "for pushes" in bench.log.read_text()
    assert token not in bench.log.read_text()
    state = find_project(bench.project, os.environ).state
    assert all(
        token not in p.read_text("utf-8", "replace") for p in state.rglob("*") if p.is_file()
    )


def test_at_the_limit_one_line_and_rules_only(bench: Bench) -> None:
    (bench.project / ".git").mkdir()
    play = {"replies": [{"text": "<no_intervention/>", "times": 0}]}
    script = bench.project / "play.json"
    script.write_text(json.dumps(play))
    bench.play(f"model=scripted:{script}", "mode=sync", once=True, PMEM_SESSION_TOKENS="5")
    assert sum("model" in d for d in bench.decisions) == 1


@pytest.mark.parametrize(
    ("model", "words"),
    [("command:/nowhere/model", "cannot run"), ("anthropic:claude-x", "there is no key")],
)
def test_a_model_that_cannot_be_asked_is_told_and_rules_go_on(
    bench: Bench, model: str, words: str
) -> None:
    bench.play(f"model={model}", "yes=1", "mode=sync", once=True)
    assert any(words in d.get("verdict", "") for d in bench.decisions)
    assert words in bench.words


def test_an_arm_without_a_model_says_what_to_do(bench: Bench) -> None:
    done = bench.pmem("run", "--arm", "selective", "--", "true")
    assert done.returncode == 2
    assert "needs a model" in done.stderr and "--model" in done.stderr


def test_a_model_that_hangs_holds_neither_the_agent_nor_the_end(bench: Bench) -> None:
    bench.model.write_text('#!/bin/sh\necho $$ > "$LOG"; exec sleep 300\n')
    assert "observed make" in bench.play(f"model=command:{bench.model}", "yes=1", once=True)
    if bench.log.exists():
        assert gone(int(bench.log.read_text()))


def test_when_the_terminal_process_dies_in_sync_mode_nothing_is_left(bench: Bench) -> None:
    bench.model.write_text('#!/bin/sh\necho $$ > "$LOG"; exec sleep 300\n')
    command = bench.line((f"model=command:{bench.model}", "yes=1", "mode=sync"), once=True)
    running = subprocess.Popen(
        command,
        cwd=bench.project,
        env={**os.environ, "LOG": str(bench.log)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (bench.log.exists() and bench.log.read_text().endswith("\n")):
        assert running.poll() is None
        time.sleep(0.05)
    running.kill()
    running.wait()
    assert gone(int(bench.log.read_text()))


def test_on_a_terminal_it_is_asked_once_and_a_no_is_kept(bench: Bench) -> None:
    import pexpect

    def start() -> pexpect.spawn:
        program, *words = bench.line((f"model=command:{bench.model}",), once=True)
        return pexpect.spawn(
            program,
            words,
            cwd=str(bench.project),
            env={**os.environ, "LOG": str(bench.log)},  # type: ignore[arg-type]
            encoding="utf-8",
            timeout=60,
            dimensions=(40, 200),
        )

    first = start()
    first.expect(r"memory would ask\s+command:")
    first.expect("It is sent the task")
    first.expect(r"\[y/N\] ")
    first.sendline("")
    first.expect("rules only")
    first.expect("observed make")
    first.expect(pexpect.EOF)
    second = start()
    second.expect("observed make")
    assert "y/N" not in second.before
    second.expect(pexpect.EOF)
    assert bench.asked == []


def test_of_a_program_that_tells_nothing_nobody_is_asked(bench: Bench) -> None:
    done = bench.pmem("run", "--model", f"command:{bench.model}", "--", "echo", "ran")
    assert (done.stdout, done.stderr) == ("ran\n", "")
    assert bench.asked == []


def gone(pid: int) -> bool:
    """Whether a process ends within ten seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
