"""zsh: where its files are, its options and its hooks, all as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells import Open, count, run


@pytest.mark.parametrize(
    "setting",
    ["setopt ksh_arrays", "setopt no_unset", "setopt sh_word_split", "setopt ksh_glob",
     "setopt extended_glob", "setopt null_glob", "setopt no_clobber", "setopt err_return",
     "setopt pipe_fail", "setopt no_multi_func_def", "setopt posix_builtins", "setopt rc_quotes",
     "setopt share_history", "setopt hist_reduce_blanks hist_ignore_all_dups", "bindkey -v",
     "setopt no_bare_glob_qual", "setopt warn_create_global", "setopt typeset_silent",
     "setopt prompt_sp", "emulate sh"],
)  # fmt: skip
def test_odd_settings_change_nothing(opened: Open, setting: str) -> None:
    rig = opened("zsh", rc=setting)
    run(rig, "echo one | cat; (exit 4)")
    finished = run(rig, "echo $?")
    assert finished["output"] == "4\n"
    assert finished["command"] == "echo $?"
    assert b"__pmem" not in rig.output


def test_hooks_thrown_out_come_back(opened: Open) -> None:
    rig = opened("zsh", rc="precmd_functions=() preexec_functions=()")
    # Emptied in .zshrc, before the first prompt: nothing is left that could put them back.
    rig.line("precmd_functions+=(x)")
    rig.for_a_while(0.3)
    assert rig.process.poll() is None


def test_hooks_thrown_out_at_the_prompt_end_the_marks_quietly(opened: Open) -> None:
    rig = opened("zsh")
    run(rig, "true")
    rig.line("precmd_functions=()")
    rig.for_a_while(0.3)
    rig.line("echo still works")
    rig.expect("still works\r\n")


def test_hooks_of_the_user_run_and_see_the_status(opened: Open) -> None:
    rig = opened(
        "zsh",
        rc="mine() { echo mine $? }; theirs() { echo pre: $1 }\n"
        "autoload -Uz add-zsh-hook; add-zsh-hook precmd mine; add-zsh-hook preexec theirs",
    )
    rig.line("sh -c 'exit 9'")
    rig.expect("pre: sh -c 'exit 9'\r\n")
    rig.expect("mine 9\r\n")
    rig.until(lambda: count(rig, "finished"))
    assert rig.finished()["output"] == ""


def test_a_directory_of_the_users_own_for_rc_files_is_read(opened: Open, home: Path) -> None:
    own = home / "own dir"
    own.mkdir()
    (own / ".zshenv").write_text("FROM_ENV=yes\n")
    (own / ".zshrc").write_text("PS1='own> '\n")
    rig = opened("zsh", env={"ZDOTDIR": str(own)})
    rig.expect("own> ") if b"own> " not in rig.output else None
    assert run(rig, "echo $FROM_ENV $ZDOTDIR")["output"] == f"yes {own}\n"


def test_a_zshenv_that_moves_the_rc_files_is_followed(opened: Open, home: Path) -> None:
    (home / "moved").mkdir()
    (home / "moved/.zshrc").write_text("PS1='moved> '\n")
    (home / ".zshenv").write_text("export ZDOTDIR=$HOME/moved\n")
    rig = opened("zsh")
    assert b"moved> " in rig.output
    assert run(rig, "echo $ZDOTDIR")["output"] == f"{home}/moved\n"


def test_without_one_the_variable_stays_unset(opened: Open) -> None:
    rig = opened("zsh")
    assert run(rig, "echo ${ZDOTDIR-unset}; env | grep -c ZDOTDIR")["output"] == "unset\n0\n"


def test_what_the_history_is_told_to_ignore_is_private(opened: Open) -> None:
    rig = opened("zsh", rc="HISTORY_IGNORE='(*token*|ls)'")
    assert run(rig, "echo token=1")["private"] is True
    assert run(rig, "echo open")["private"] is False


def test_the_end_mark_of_an_unfinished_line_is_not_output(opened: Open) -> None:
    rig = opened("zsh", rc="setopt prompt_sp")
    assert run(rig, "printf unfinished")["output"] == "unfinished"
    assert run(rig, "echo finished")["output"] == "finished\n"
