"""A key is found and no model named: on a terminal it is asked once, elsewhere told once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest
from endpoint import Endpoint, anthropic_answer
from model_bench import Bench

KEY = {"ANTHROPIC_API_KEY": "sk-ant-api03-none-none-none-none-none-0000"}
MODEL = "anthropic:claude-sonnet-5-5"
QUESTION = r"\[y\]es, \[N\]o, ne\[v\]er: "


@pytest.fixture
def bench(project: Path, tmp_path: Path) -> Bench:
    return Bench(project, tmp_path)


@pytest.fixture
def start(bench: Bench) -> Callable[..., pexpect.spawn]:
    """Starts the scripted agent under memory on a terminal."""

    def start(*options: str, columns: int = 200, **env: str) -> pexpect.spawn:
        program, *words = bench.line(options, once=True)
        return pexpect.spawn(
            program,
            words,
            cwd=str(bench.project),
            env={**os.environ, **KEY, **env},  # type: ignore[arg-type]
            encoding="utf-8",
            timeout=60,
            dimensions=(40, columns),
        )

    return start


def told(running: pexpect.spawn) -> str:
    """All that is told to the end."""
    running.expect(pexpect.EOF)
    assert "observed make" in running.before
    return str(running.before)


def test_a_yes_names_the_model_for_this_project(
    bench: Bench, start: Callable[..., pexpect.spawn]
) -> None:
    endpoint = Endpoint([anthropic_answer("<no_intervention/>")])
    first = start(PMEM_BASE_URL=endpoint.url, PMEM_MODE="sync")
    first.expect(QUESTION)
    asked = " ".join(first.before.split())
    assert f"ANTHROPIC_API_KEY is set: memory could ask {MODEL} at {endpoint.url}" in asked
    assert "$2 for a million tokens in, $10 out; at most $2 a session and $10 a day" in asked
    assert "It is sent the task, rule files, the last steps" in asked
    first.sendline("y")
    told(first)
    assert endpoint.requests[0]["model"] == "claude-sonnet-5-5"
    before = len(endpoint.requests)
    assert "could ask" not in told(start(PMEM_BASE_URL=endpoint.url, PMEM_MODE="sync"))
    assert len(endpoint.requests) > before
    assert bench.pmem("config", "model").stdout == f"{MODEL}\n"
    endpoint.close()


@pytest.mark.parametrize(("answer", "elsewhere"), [("", True), ("no", True), ("v", False)])
def test_a_no_holds_here_and_never_everywhere(
    bench: Bench,
    start: Callable[..., pexpect.spawn],
    tmp_path: Path,
    answer: str,
    elsewhere: bool,
) -> None:
    first = start()
    first.expect(QUESTION)
    first.sendline(answer)
    assert f"rules only; pmem config model {MODEL} changes that" in told(first)
    assert "could ask" not in told(start())
    bench.project = tmp_path / "another"
    bench.project.mkdir()
    there = start()
    assert there.expect([QUESTION, "observed make"]) == (0 if elsewhere else 1)
    there.close(force=True)
    bench.pmem("config", "--unset", "consent")
    again = start()
    again.expect(QUESTION)
    again.close(force=True)


def test_away_from_a_terminal_one_line_says_how_once(
    bench: Bench, start: Callable[..., pexpect.spawn]
) -> None:
    bench.play(once=True, **KEY)
    assert bench.words == (
        "pmem: rules only; ANTHROPIC_API_KEY is set, so a model could remember here: pmem config"
        f" model {MODEL}, then pmem config consent yes\n"
    )
    bench.play(once=True, **KEY)
    assert bench.words == ""
    start().expect(QUESTION)  # who was told has not been asked


@pytest.mark.parametrize(
    ("options", "env"),
    [
        (("arm=rules",), {}),
        ((), {"PMEM_ARM": "rules"}),
        (("arm=off",), {}),
        ((), {"PMEM_QUIET": "1"}),
        ((), {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}),
        ((), {"ANTHROPIC_API_KEY": ""}),
        ((), {"PMEM_MODEL": "scripted:nowhere.json"}),
    ],
)
def test_where_something_is_chosen_or_the_key_is_for_elsewhere_nobody_is_asked(
    start: Callable[..., pexpect.spawn], options: tuple[str, ...], env: dict[str, str]
) -> None:
    assert "could ask" not in told(start(*options, **env))


def test_the_question_fits_a_narrow_terminal(start: Callable[..., pexpect.spawn]) -> None:
    asked = start(columns=60)
    asked.expect(QUESTION)
    assert all(len(line) <= 60 for line in asked.before.splitlines())
