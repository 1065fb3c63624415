"""bash: its history settings, traps, prompt commands and options, all as they were."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from programs import starship

from shells import REMINDER, Open, count, run

#: In the rc file this makes a newer bash go the way of an older one.
each_way = pytest.mark.parametrize(
    "way",
    ["", "__pmem_version=404\n", "__pmem_version=302\n"],
    ids=["5.1", "4.4", "3.2"],
)


@each_way
@pytest.mark.parametrize(
    "control", ["", "ignorespace", "ignoredups", "ignoreboth", "erasedups", "ignoreboth:erasedups"]
)
def test_repeats_are_told_whatever_the_history_does_with_them(
    opened: Open, way: str, control: str
) -> None:
    rig = opened("bash", rc=f"{way}HISTCONTROL={control}")
    for command in ("echo a", "echo a", "echo b", "echo a", "echo a"):
        finished = run(rig, command)
        assert finished["command"] == command
        assert finished["output"] == f"{command[-1]}\n"
    assert count(rig, "entered") == 5


@each_way
@pytest.mark.parametrize("control", ["ignorespace", "ignoreboth"])
def test_a_line_with_a_space_is_private_even_right_after_another(
    opened: Open, way: str, control: str
) -> None:
    rig = opened("bash", rc=f"{way}HISTCONTROL={control}")
    run(rig, "cd . && echo known")
    for command in (" echo secret", "  cat /dev/null", " for i in 1; do :; done", " a=secret"):
        assert run(rig, command)["private"] is True
    assert run(rig, "cd . && echo known")["command"] == "cd . && echo known"
    assert "secret" not in str(rig.messages)


@pytest.mark.parametrize(
    "repeated",
    [
        "ll", "echo a | cat", "ls >/dev/null 2>&1", "echo 'a b'  \"c\"", "x=1 true", "false || :",
        "for i in 1 2; do echo $i; done", "{ echo a; }", "[[ a == b ]]", "(( 1 + 1 ))", "! false",
        "time true", "if true; then echo y; fi",
    ],
)  # fmt: skip
def test_a_repeat_is_recognised_by_its_first_command(opened: Open, repeated: str) -> None:
    rig = opened("bash", rc="alias ls='ls --color=auto' ll='ls -d /'")
    run(rig, repeated)
    run(rig, repeated)
    commands = [m["command"] for m in rig.messages if m["type"] == "finished"]
    # What cannot be told from a private line counts as one, never the other way round.
    assert commands in ([repeated, repeated], [repeated, ""])
    if repeated.split()[0] not in ("{", "[[", "((", "!", "time", "if", "for"):
        assert commands == [repeated, repeated]


@each_way
def test_a_history_of_three_lines_is_enough(opened: Open, way: str) -> None:
    rig = opened("bash", rc=f"{way}HISTSIZE=3; HISTTIMEFORMAT='%F %T '")
    for n in range(6):
        assert run(rig, f"echo {n}")["command"] == f"echo {n}"


def test_without_a_history_commands_are_private(opened: Open) -> None:
    rig = opened("bash", rc="set +o history")
    finished = run(rig, "echo something")
    assert (finished["command"], finished["private"]) == ("", True)
    assert finished["exit_code"] == 0


def test_a_pattern_the_history_ignores_is_private(opened: Open) -> None:
    rig = opened("bash", rc="HISTCONTROL=; HISTIGNORE='*token*'")
    run(rig, "echo open")
    assert run(rig, "echo token=1")["private"] is True
    assert run(rig, "echo open")["private"] is False


def test_history_expansion_is_told_expanded(opened: Open) -> None:
    rig = opened("bash")
    run(rig, "echo first")
    assert run(rig, "!! again")["command"] == "echo first again"


def test_lines_kept_apart_in_the_history_are_told(opened: Open) -> None:
    rig = opened("bash", rc="shopt -s lithist")
    rig.line("echo 'a")
    rig.for_a_while(0.2)
    assert run(rig, "b'")["command"] == "echo 'a\nb'"


@each_way
def test_prompt_commands_of_the_user_stay(opened: Open, way: str) -> None:
    mine = "('echo one $?' 'echo two $?')" if not way else "'echo one $?; (exit 7); echo two $?'"
    rig = opened("bash", rc=f"{way}PROMPT_COMMAND={mine}")
    rig.line("sh -c 'exit 7'")
    rig.expect("one 7\r\n")
    rig.expect("two 7\r\n")
    rig.until(lambda: count(rig, "finished"))
    assert rig.finished()["output"] == ""
    assert "echo one" in run(rig, "declare -p PROMPT_COMMAND")["output"]


def test_a_prompt_command_set_later_is_kept_and_marks_come_back(opened: Open) -> None:
    rig = opened("bash")
    rig.line("PROMPT_COMMAND='echo mine'")
    rig.expect("mine\r\n")
    rig.for_a_while(0.2)
    rig.line("true")
    rig.until(lambda: count(rig, "finished") == 2)  # "mine" is there before the end is told
    assert run(rig, "echo told")["output"] == "told\n"
    assert rig.finished(0)["exit_code"] is None
    assert "dropped" not in rig.finished(0)


def test_the_users_ps0_is_shown(opened: Open) -> None:
    rig = opened("bash", rc="PS0='(ps0)'")
    assert run(rig, "echo out")["output"].endswith("out\n")
    rig.expect(r"\(ps0\)out\r\n")


def test_a_users_debug_trap_works_and_stays(opened: Open) -> None:
    rig = opened("bash", rc="trap 'seen=$BASH_COMMAND' DEBUG")
    run(rig, "true word")
    assert run(rig, "echo last: $seen")["output"] == "last: echo last: $seen\n"
    assert "seen=" in run(rig, "trap -p DEBUG")["output"]
    run(rig, "trap - DEBUG")
    assert run(rig, "trap -p DEBUG")["output"] == ""


def test_a_users_debug_trap_that_refuses_commands_still_does(opened: Open) -> None:
    refuse = "shopt -s extdebug; trap '[[ $BASH_COMMAND != *forbidden* ]]' DEBUG"
    rig = opened("bash", rc=refuse)
    assert run(rig, "echo forbidden")["output"] == ""
    assert run(rig, "echo allowed")["output"] == "allowed\n"


@each_way
def test_a_users_error_trap_is_not_set_off_by_pmem(opened: Open, way: str) -> None:
    rig = opened("bash", rc=f"{way}trap 'echo ERR-trap' ERR")
    run(rig, "true")
    run(rig, "false")
    rig.expect("> ")
    run(rig, "true")
    assert rig.output.count(b"ERR-trap") == 1


@each_way
@pytest.mark.parametrize(
    "setting",
    ["set -u", "IFS=:", "IFS=", "set -o posix", "shopt -s nocasematch extglob nullglob",
     "set -T", "set -o noclobber", "set -f", "shopt -s extdebug", "unset HISTCONTROL",
     "readonly PS1", "shopt -u promptvars", "set -o vi", "set -p"],
)  # fmt: skip
def test_odd_settings_change_nothing(opened: Open, way: str, setting: str) -> None:
    rig = opened("bash", rc=f"{way}{setting}")
    run(rig, "echo one | cat; (exit 4)")
    finished = run(rig, "echo $?")
    assert finished["output"] == "4\n"
    assert finished["command"] == "echo $?"
    assert b"__pmem" not in rig.output


def test_tracing_shows_no_line_of_pmems(opened: Open) -> None:
    rig = opened("bash", rc="HISTCONTROL=")
    run(rig, "set -x")
    run(rig, "echo traced")
    assert b"+ echo traced\r\n" in rig.output
    assert b"__pmem" not in rig.output


def test_a_shell_that_replaces_this_one_is_one_open_step(opened: Open) -> None:
    rig = opened("bash")
    rig.line("exec sh -i")
    rig.expect(r"[#$] ")
    rig.line("exit 6")
    assert rig.wait() == 6
    assert [m["type"] for m in rig.messages] == ["entered"]


def test_read_leaves_its_variable_to_the_user(opened: Open) -> None:
    rig = opened("bash")
    rig.line("read")
    rig.for_a_while(0.3)
    run(rig, "my words")
    run(rig, "true")
    assert run(rig, "echo $REPLY")["output"] == "my words\n"


def test_a_command_given_up_in_an_editor_line_is_none(opened: Open) -> None:
    rig = opened("bash", rc="HISTCONTROL=ignoreboth")
    rig.send("ec\t\t")  # completions run functions of their own
    rig.for_a_while(0.4)
    rig.send("\x15")
    assert run(rig, "echo done")["command"] == "echo done"
    assert count(rig, "entered") == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("bash", 'eval "$("{}" init bash)"'),
        ("zsh", 'eval "$("{}" init zsh)"'),
        ("fish", "'{}' init fish | source"),
    ],
)
def test_starship_draws_its_prompt_and_commands_are_told(
    opened: Open, home: Path, name: str, line: str
) -> None:
    (home / ".config").mkdir(exist_ok=True)
    (home / ".config/starship.toml").write_text(
        'add_newline = false\nformat = "$status$character"\n'
        '[character]\nsuccess_symbol = "ok> "\nerror_symbol = "bad> "\nformat = "$symbol"\n'
        '[status]\ndisabled = false\nformat = "st=$status "\n'
    )
    rig = opened(name, rc=line.format(starship()))
    rig.line("sh -c 'exit 7'")
    rig.expect("st=7.*bad> ")
    rig.line("true")
    rig.expect("ok> ")
    told = [(m["command"], m["exit_code"]) for m in rig.messages if m["type"] == "finished"]
    assert told == [("sh -c 'exit 7'", 7), ("true", 0)]


#: A directory with bash-preexec.sh and oh-my-zsh/, which no package registry has.
ADDONS = Path(os.environ.get("PMEM_TEST_SHELL_ADDONS", "/nonexistent"))
needs_preexec = pytest.mark.skipif(
    not (ADDONS / "bash-preexec.sh").is_file(),
    reason="no bash-preexec.sh in the directory that PMEM_TEST_SHELL_ADDONS names",
)


@needs_preexec
@pytest.mark.parametrize("prompt", ["", 'eval "$("{}" init bash)"'])
def test_bash_preexec_and_pmem_both_see_every_command(
    opened: Open, home: Path, prompt: str
) -> None:
    (home / ".config").mkdir()
    (home / ".config/starship.toml").write_text('add_newline = false\nformat = "star> "\n')
    prompt = prompt and prompt.format(starship())
    hooks = 'preexec() { echo "pre: $1"; }; precmd() { echo "post: $?"; }'
    rig = opened("bash", rc=f". {ADDONS}/bash-preexec.sh\n{hooks}\n{prompt}")
    for _ in range(2):
        rig.line("sh -c 'exit 7'")
        rig.expect("pre: sh -c 'exit 7'\r\n")
        rig.expect("post: 7\r\n")
    rig.line(" echo secret")
    rig.expect("secret\r\n")
    rig.expect("post: 0\r\n")
    rig.until(lambda: count(rig, "finished") == 3)
    told = [(m["command"], m["exit_code"]) for m in rig.messages if m["type"] == "finished"]
    assert told == [("sh -c 'exit 7'", 7), ("sh -c 'exit 7'", 7), ("", 0)]
    assert "secret" not in str(rig.messages)
    assert run(rig, "echo $?; history 2")["output"].count("exit 7") >= 1


@pytest.mark.parametrize("way", ["", "__pmem_version=404\n", "__pmem_version=302\n"])
@pytest.mark.parametrize("key", ["\r", "\x03"], ids=["enter", "ctrl-c"])
def test_a_held_repeat_waits_too(opened: Open, home: Path, way: str, key: str) -> None:
    def answer(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        second = message["type"] == "entered" and message["n"] > 2
        return {**REMINDER, "held": True} if second else None

    rig = opened("bash", rc=f"{way}HISTCONTROL=ignoreboth", answer=answer)
    run(rig, "touch started")
    (home / "started").unlink()
    rig.line("touch started")
    rig.expect("ctrl-C drops it")
    rig.for_a_while(0.3)
    assert not (home / "started").exists()
    rig.send(key)
    rig.until(lambda: count(rig, "finished") == 2)
    rig.settle()
    assert (home / "started").exists() is (key == "\r")
    assert rig.finished().get("dropped", False) is (key != "\r")
    rig.answer = lambda message: None
    assert run(rig, "echo on")["output"] == "on\n"
