"""A program as the model: prompt in, answer out, nothing left behind."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from pmem.models.command import PRESETS, CommandModel, claude_reply
from pmem.models.protocol import Message, ModelError, Request, Trouble

ENV = {"PATH": os.environ["PATH"], "PMEM_SOCK": "/nowhere", "CLAUDECODE": "1"}


def script(tmp_path: Path, body: str) -> str:
    path = tmp_path / "model.sh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def ask(command: str, seconds: float = 20.0, phase: str = "decide") -> str:
    talk = (Message("user", "왜 실패했나?"), Message("user", "decide"))
    return (
        CommandModel(command, ENV).ask(Request("be brief", talk, phase=phase, timeout=seconds)).text
    )


def test_the_prompt_is_utf8_on_stdin_and_the_answer_is_stdout(tmp_path: Path) -> None:
    assert ask(script(tmp_path, "cat")) == "be brief\n\n왜 실패했나?\n\ndecide\n"


def test_the_phase_and_pmem_off_stand_in_its_environment(tmp_path: Path) -> None:
    answer = ask(script(tmp_path, 'echo "$PMEM_PHASE $PMEM ${PMEM_SOCK-no} ${CLAUDECODE-no}"'))
    assert answer == "decide off no no\n"


def test_it_runs_in_an_empty_private_directory_that_goes_away(tmp_path: Path) -> None:
    where, listing = ask(script(tmp_path, "pwd; ls -A | wc -l; ls -ld . >&2")).splitlines()
    assert listing.strip() == "0"
    assert not Path(where).exists()


def test_it_may_have_arguments(tmp_path: Path) -> None:
    assert ask(f"{script(tmp_path, 'echo $#:$2')} one 'two words'") == "2:two words\n"


def test_one_that_fails_is_told_with_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="ended with 3: no license") as told:
        ask(script(tmp_path, "echo no license >&2; exit 3"))
    assert told.value.trouble is Trouble.REFUSED


def test_one_that_is_not_there_is_told_for_good() -> None:
    with pytest.raises(ModelError, match="cannot run /nowhere/model") as told:
        ask("/nowhere/model")
    assert told.value.lasting


def test_one_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with pytest.raises(ModelError, match="did not answer") as told:
        ask(script(tmp_path, f"sleep 300 & echo $! > {note}; wait"), seconds=1.0)
    assert told.value.trouble is Trouble.TIME
    assert gone(int(note.read_text()))


def test_one_that_does_not_read_its_prompt_may_still_answer(tmp_path: Path) -> None:
    assert ask(script(tmp_path, "exec <&-; echo here")) == "here\n"


def test_claude_code_s_answer_has_its_usage_and_its_price() -> None:
    told = {
        "type": "result",
        "is_error": False,
        "result": "<no_intervention/>",
        "total_cost_usd": 0.01,
        "usage": {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7},
    }
    reply = claude_reply(json.dumps(told))
    assert reply.text == "<no_intervention/>"
    assert (reply.usage.input, reply.usage.cache_read, reply.usage.money) == (3, 7, 0.01)
    with pytest.raises(ModelError, match="log in"):
        claude_reply(json.dumps({**told, "is_error": True, "result": "please log in"}))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_runs_its_program_without_hooks(name: str, tmp_path: Path) -> None:
    program = PRESETS[name][0]
    stand_in = tmp_path / "bin" / program
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\ncat >/dev/null\nprintf "%s|" "$@"\n')
    stand_in.chmod(0o755)
    env = {"PATH": f"{stand_in.parent}:{os.environ['PATH']}"}
    model = CommandModel(f"{name} --model small", env)
    said = model.ask(Request("s", (Message("user", "q"),), timeout=20)).text
    assert "--model|small|" in said
    assert ("disableAllHooks" in said) or ("--ignore-user-config" in said and said.endswith("-|"))


def gone(pid: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False
