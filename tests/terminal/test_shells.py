"""Each shell tells of each command, and is otherwise the shell it was."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rig import NONCE, Rig

from pmem.core.captured import HEAD, MARGIN, TAIL
from shells import RC, REMINDER, SHELLS, Open, count, reminds, run, write_rc

Start = Callable[..., Rig]

each_shell = pytest.mark.parametrize("name", SHELLS)


@each_shell
def test_a_command_is_told_when_it_is_entered_and_when_it_is_finished(
    opened: Open, name: str, home: Path
) -> None:
    started = time.time()
    rig = opened(name)
    run(rig, "echo one; ls /nosuch")
    entered, finished = rig.messages
    assert entered == {
        "n": 1,
        "type": "entered",
        "command": "echo one; ls /nosuch",
        "cwd": str(home),
        "private": False,
        "can_hold": name != "fish",
        "confirms": name != "fish",
    }
    assert finished["n"] == 2
    assert finished["command"] == "echo one; ls /nosuch"
    assert finished["exit_code"] == 2
    assert finished["cwd"] == str(home)
    assert finished["output"].splitlines()[0] == "one"
    assert "No such file" in finished["output"]
    assert started <= finished["started"] <= time.time()
    assert 0 <= finished["seconds"] < 20


@each_shell
def test_no_mark_and_nothing_else_reaches_the_screen(
    opened: Open, bare: Start, home: Path, name: str
) -> None:
    def play(rig: Rig) -> list[str]:
        for line in ("echo one", "false", "", "cd /", "printf 'no newline'", "ls -C /", "nosuch"):
            rig.line(line)
            rig.for_a_while(0.4)
        rig.line("exit")
        rig.wait()
        return rig.display()

    with_pmem = opened(name)
    seen = play(with_pmem)
    assert b"6973" not in with_pmem.output
    write_rc(home, name)
    without = bare(name, "-i", env={**os.environ, "LANG": "C.UTF-8"}, cwd=home)
    without.expect("> ")
    assert seen == play(without)


@each_shell
def test_nothing_entered_is_no_step(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.line("")
    rig.expect("> ")
    rig.send("echo half")
    rig.for_a_while(0.3)
    rig.send("\x03")
    rig.expect("> ")
    rig.line("   ")
    rig.for_a_while(0.3)
    run(rig, "echo whole")
    assert [m["command"] for m in rig.messages if not m["private"]] == ["echo whole"] * 2


@each_shell
def test_a_command_given_up_with_ctrl_c_has_exit_code_130(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.line("sleep 60")
    rig.until(lambda: rig.messages)
    rig.for_a_while(0.3)
    rig.send("\x03")
    rig.until(lambda: count(rig, "finished"))
    assert rig.finished()["exit_code"] == 130


@each_shell
def test_a_repeated_command_is_told_each_time(opened: Open, name: str) -> None:
    rig = opened(name)
    for _ in range(3):
        assert run(rig, "cd nosuch")["command"] == "cd nosuch"
    assert [m["exit_code"] for m in rig.messages if m["type"] == "finished"] == [1, 1, 1]


@each_shell
def test_a_command_kept_out_of_the_history_is_private(opened: Open, name: str) -> None:
    rig = opened(name)
    run(rig, "echo open")
    finished = run(rig, " echo secret-word")
    assert (finished["command"], finished["output"], finished["private"]) == ("", "", True)
    assert finished["exit_code"] == 0
    assert run(rig, "echo open")["command"] == "echo open"
    assert "secret-word" not in str(rig.messages)
    assert b"secret-word\r\n" in rig.output


@each_shell
def test_the_directory_is_the_one_the_command_ran_in(opened: Open, name: str, home: Path) -> None:
    (home / "a dir;%").mkdir()
    rig = opened(name)
    assert run(rig, "cd 'a dir;%'")["cwd"] == str(home)
    assert run(rig, "true")["cwd"] == str(home / "a dir;%")


@each_shell
def test_every_script_and_sign_in_a_command_arrives(opened: Open, name: str) -> None:
    rig = opened(name)
    command = "echo '한글 日本語 ü 👩‍👩‍👧 % ; %25 \\ $HOME'"
    finished = run(rig, command)
    assert finished["command"] == command
    assert finished["output"].strip() == "한글 日本語 ü 👩‍👩‍👧 % ; %25 \\ $HOME"


@each_shell
def test_a_command_of_five_kilobytes_arrives_whole(opened: Open, name: str) -> None:
    rig = opened(name)
    command = "true " + " ".join(f"word{n}" for n in range(600))
    rig.send(f"\x1b[200~{command}\x1b[201~")
    assert run(rig, "")["command"] == command


MULTI_LINE = {
    "bash": "for i in 1 2\ndo echo line$i\ndone",
    "zsh": "for i in 1 2\ndo echo line$i\ndone",
    "fish": "for i in 1 2\necho line$i\nend",
}


@each_shell
def test_a_command_of_several_lines_is_one_command(opened: Open, name: str) -> None:
    rig = opened(name)
    lines = MULTI_LINE[name].split("\n")
    for line in lines[:-1]:
        rig.line(line)
        rig.for_a_while(0.2)
    finished = run(rig, lines[-1])
    assert finished["output"] == "line1\nline2\n"
    assert finished["command"].split() == MULTI_LINE[name].replace("\n", "; ").split() or (
        finished["command"].split() == MULTI_LINE[name].split()
    )
    assert count(rig, "entered") == 1


@each_shell
def test_a_here_document_is_one_command(opened: Open, name: str) -> None:
    if name == "fish":
        pytest.skip("fish has no here-documents")
    rig = opened(name)
    rig.line("cat <<END")
    rig.for_a_while(0.2)
    rig.line("body $((1+1))")
    rig.for_a_while(0.2)
    finished = run(rig, "END")
    assert finished["output"] == "body 2\n"
    assert finished["command"].startswith("cat <<END\nbody")


@each_shell
def test_lines_pasted_at_once_are_all_told(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.send("echo first\recho second\recho third\r")
    rig.until(lambda: count(rig, "finished") >= 3)
    told = [m for m in rig.messages if m["type"] == "finished"]
    assert [m["command"] for m in told] == ["echo first", "echo second", "echo third"]
    assert [m["exit_code"] for m in told] == [0, 0, 0]


@each_shell
def test_a_bracketed_paste_waits_for_enter_as_ever(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.send("\x1b[200~echo a\necho b\x1b[201~")
    rig.for_a_while(0.5)
    assert rig.messages == []
    before = count(rig, "finished")
    rig.send("\r")
    rig.until(lambda: count(rig, "finished") > before)
    rig.for_a_while(0.5)
    told = [m for m in rig.messages if m["type"] == "finished"]
    assert "echo b" in told[-1]["command"]
    assert "".join(m["output"] for m in told) == "a\nb\n"


@each_shell
def test_a_stopped_command_goes_on_with_fg(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.line("sleep 0.6")
    rig.until(lambda: rig.messages)
    rig.for_a_while(0.2)
    rig.send("\x1a")
    rig.until(lambda: count(rig, "finished"))
    if name != "fish":  # fish 3.6 reports the status from before
        assert rig.finished()["exit_code"] in (146, 148)
    assert run(rig, "fg")["exit_code"] == 0


@each_shell
def test_a_background_job_ends_its_command_at_once(opened: Open, name: str) -> None:
    rig = opened(name)
    started = time.monotonic()
    assert run(rig, "sleep 30 &")["exit_code"] == 0
    assert time.monotonic() - started < 25
    run(rig, "kill %1")


@each_shell
def test_a_nested_shell_is_one_step(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.line("bash --norc -i")
    rig.expect(r"bash[^\n]*[$#] ")
    rig.line("echo inside")
    rig.expect("inside\r\n")
    assert count(rig, "finished") == 0
    finished = run(rig, "exit 3")
    assert finished["command"] == "bash --norc -i"
    assert finished["exit_code"] == 3
    assert "inside" in finished["output"]


@each_shell
def test_a_forged_mark_in_an_output_tells_nothing(opened: Open, name: str) -> None:
    rig = opened(name)
    run(rig, r"printf '\033]6973;0000000000000000;1;C;1;/;evil\007done'")
    assert "evil" not in [m["command"] for m in rig.messages]
    assert run(rig, "echo on")["output"] == "on\n"


@each_shell
def test_children_learn_no_nonce(opened: Open, name: str, short_dir: Path) -> None:
    rig = opened(name)
    pid = "$fish_pid" if name == "fish" else "$$"
    assert NONCE not in run(rig, f"env; cat /proc/self/environ; cat /proc/{pid}/environ")["output"]
    assert [p.name for p in short_dir.rglob("*") if p.is_file()] in ([], ["debug"])


@each_shell
def test_status_and_pipe_status_are_the_users_own(opened: Open, name: str) -> None:
    rig = opened(name)
    status = "echo status $status" if name == "fish" else "echo status $?"
    pipe = {
        "bash": 'echo pipe "${PIPESTATUS[@]}"',
        "zsh": "echo pipe $pipestatus",
        "fish": "echo pipe $pipestatus",
    }[name]
    run(rig, "sh -c 'exit 7'")
    assert run(rig, status)["output"] == "status 7\n"
    run(rig, "sh -c 'exit 3' | sh -c 'exit 4' | true")
    assert run(rig, pipe)["output"] == "pipe 3 4 0\n"


PROMPT_HOOK = {
    "bash": "PROMPT_COMMAND='echo hook $? ${PIPESTATUS[*]}'",
    "zsh": "precmd() { echo hook $? $pipestatus }",
    "fish": "function h --on-event fish_prompt; echo hook $status $pipestatus; end",
}


@each_shell
def test_the_users_own_prompt_hook_sees_what_it_saw(opened: Open, name: str) -> None:
    rig = opened(name, rc=PROMPT_HOOK[name])
    rig.line("sh -c 'exit 3' | sh -c 'exit 9'")
    rig.expect("hook 9 3 9\r\n" if name != "zsh" else "hook 9 [0-9 ]*\r\n")
    assert rig.until(lambda: count(rig, "finished"))
    if name != "zsh":  # its precmd function runs before any hook can
        assert rig.finished()["output"] == ""


@each_shell
def test_the_last_argument_variable_survives_the_prompt(opened: Open, name: str) -> None:
    if name == "fish":
        pytest.skip("fish has no such variable")
    rig = opened(name)
    run(rig, "echo some thing")
    assert run(rig, "echo $_")["output"] == "thing\n"


@each_shell
def test_a_banner_for_a_finished_command_stands_above_the_prompt(opened: Open, name: str) -> None:
    rig = opened(name, answer=reminds("printf", "finished"))
    rig.line("printf 'no newline'")
    rig.expect("said so.*> ")
    rig.for_a_while(0.3)
    lines = [line for line in rig.display() if line]
    at = next(i for i, line in enumerate(lines) if "[MEMORY REMINDER]" in line)
    assert lines[at - 1].startswith("no newline")
    assert "said so" in lines[at + 1]
    assert lines[-1] == ">"


@each_shell
def test_a_banner_for_an_entered_command_stands_before_its_output(opened: Open, name: str) -> None:
    rig = opened(name, answer=reminds("echo", "entered"))
    rig.line("echo the output")
    rig.until(lambda: count(rig, "finished"))
    rig.for_a_while(0.3)
    lines = [line for line in rig.display() if line]
    at = next(i for i, line in enumerate(lines) if "[MEMORY REMINDER]" in line)
    assert lines[at - 1] == "> echo the output"
    assert lines[at + 4 : at + 5] == ["the output"] or "the output" in lines[at + 3 : at + 6]


@each_shell
def test_editing_after_a_banner_is_undisturbed(opened: Open, name: str) -> None:
    rig = opened(name, answer=reminds("false", "finished"), columns=40)
    run(rig, "false")
    rig.expect("said so.*> ")
    rig.send("echo " + "x" * 60 + "\x01\x05")
    rig.send("\x7f" * 50 + " end")
    rig.for_a_while(0.5)
    assert run(rig, "")["output"].split() == ["x" * 10, "end"]


@each_shell
def test_a_session_that_never_answers_loses_nothing_and_is_soon_not_waited_for(
    opened: Open, name: str
) -> None:
    rig = opened(name, answer=None)
    for n in range(6):
        assert run(rig, f"echo out {n}")["output"] == f"out {n}\n"
    rig.for_a_while(0.3)
    assert [f"out {n}" for n in range(6)] == [
        line for line in rig.display() if line.startswith("out")
    ]


@each_shell
def test_a_session_that_died_is_not_missed(opened: Open, name: str) -> None:
    rig = opened(name)
    run(rig, "echo before")
    assert rig.link is not None
    rig.link.close()
    rig.line("echo after")
    rig.expect("after\r\n")
    rig.expect("> ")
    rig.line("exit 5")
    assert rig.wait() == 5


@each_shell
def test_a_long_output_is_kept_by_its_ends(opened: Open, name: str) -> None:
    rig = opened(name)
    output = run(rig, "seq 100000")["output"]
    assert output.startswith("1\n2\n3\n")
    assert output.endswith("\n99999\n100000\n")
    assert "bytes of output left out" in output
    assert len(output) < HEAD + TAIL + 2 * MARGIN + 100


@each_shell
def test_a_full_screen_program_leaves_a_note(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.line("less /etc/passwd")
    rig.expect("root:")
    rig.for_a_while(0.3)
    before = count(rig, "finished")
    rig.send("q")
    rig.until(lambda: count(rig, "finished") > before)
    assert rig.finished()["output"].strip() == "[a full-screen program ran here]"


@each_shell
def test_what_is_typed_without_echo_is_in_no_message(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.line("sh -c 'stty -echo; printf pass:; read x; stty echo; echo; echo ok'")
    rig.expect("pass:")
    rig.for_a_while(0.3)
    rig.line("hunter2")
    rig.until(lambda: count(rig, "finished"))
    assert rig.finished()["output"].endswith("ok\n")
    assert "hunter2" not in str(rig.messages)
    assert b"hunter2" not in rig.output


@each_shell
def test_the_exit_code_of_the_shell_is_passed_on(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.line("exit 42")
    assert rig.wait() == 42


@each_shell
def test_the_shell_can_be_killed(opened: Open, name: str) -> None:
    rig = opened(name)
    rig.line("kill -9 $fish_pid" if name == "fish" else "kill -9 $$")
    assert rig.wait() == 128 + signal.SIGKILL


@each_shell
def test_a_login_shell_reads_the_profile(opened: Open, name: str, home: Path) -> None:
    profile = {"bash": ".bash_profile", "zsh": ".zprofile", "fish": ".config/fish/login.fish"}
    (home / ".config/fish").mkdir(parents=True, exist_ok=True)
    rc = "status is-login; and set -gx FROM_PROFILE yes" if name == "fish" else ""
    if name != "fish":
        more = ". ~/.bashrc\n" if name == "bash" else ""
        (home / profile[name]).write_text(f"export FROM_PROFILE=yes\n{more}")
    rig = opened(name, "--login", rc=rc)
    assert run(rig, "echo $FROM_PROFILE")["output"] == "yes\n"


@each_shell
def test_the_rc_files_are_never_written(opened: Open, name: str, home: Path) -> None:
    rig = opened(name)
    before = (home / RC[name][0]).read_text()
    run(rig, "echo one")
    rig.line("exit")
    rig.wait()
    assert (home / RC[name][0]).read_text() == before


GATED = ["bash", "zsh"]


@pytest.mark.parametrize("name", GATED)
def test_a_prohibited_command_never_starts_before_its_banner_is_seen(
    opened: Open, name: str, home: Path
) -> None:
    held = {**REMINDER, "held": True}
    rig = opened(name, answer=reminds("touch", "entered", held))
    run(rig, "echo free")
    rig.line("touch started")
    rig.expect("said so.*ctrl-C drops it")
    assert not (home / "started").exists()
    rig.for_a_while(0.5)
    assert not (home / "started").exists()
    assert count(rig, "finished") == 1
    rig.send("\r")
    rig.until(lambda: count(rig, "finished") == 2)
    assert (home / "started").exists()
    assert rig.finished()["exit_code"] == 0
    assert rig.finished()["seconds"] < 0.5  # without the time it was held


@pytest.mark.parametrize("name", GATED)
def test_also_on_a_slow_machine_a_prohibited_command_waits_for_its_banner(
    opened: Open, name: str, home: Path
) -> None:
    def answer(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if "touch" not in message["command"]:
            return None
        time.sleep(0.3)  # six times as long as a shell waits by itself
        return {**REMINDER, "held": message["type"] == "entered"}

    rig = opened(name, answer=answer)
    run(rig, "echo free")
    rig.line("touch started")
    rig.expect("said so.*ctrl-C drops it")
    rig.for_a_while(0.3)
    assert not (home / "started").exists()
    rig.send("\r")
    rig.until(lambda: count(rig, "held"))
    assert [m["held"] for m in rig.messages if m["type"] == "held"] == [True]
    rig.until(lambda: (home / "started").exists())


@pytest.mark.parametrize("name", GATED)
def test_a_shell_says_when_it_did_not_wait(opened: Open, name: str, home: Path) -> None:
    rig = opened(name, answer=None)
    run(rig, "echo free")  # unanswered: from now on nothing is waited for long
    rig.line("touch started")
    rig.until(lambda: (home / "started").exists())
    assert rig.link is not None
    n = next(m["n"] for m in rig.messages if m["type"] == "entered" and m["n"] > 1)
    rig.link.send({"type": "answer", "n": n, "banner": {**REMINDER, "held": True}})
    rig.until(lambda: count(rig, "held"))
    assert [m["held"] for m in rig.messages if m["type"] == "held"] == [False]
    rig.line("true")
    rig.expect("said so")
    assert b"ctrl-C drops it" not in rig.output


@pytest.mark.parametrize("name", GATED)
def test_ctrl_c_drops_a_held_command(opened: Open, name: str, home: Path) -> None:
    held = {**REMINDER, "held": True}
    rig = opened(name, answer=reminds("touch", "entered", held))
    rig.line("touch started")
    rig.expect("ctrl-C drops it")
    rig.for_a_while(0.3)
    rig.send("\x03")
    rig.until(lambda: count(rig, "finished"))
    assert rig.finished()["dropped"] is True
    assert rig.finished()["exit_code"] is None
    assert not (home / "started").exists()
    rig.until(lambda: rig.display()[-1:] and [line for line in rig.display() if line][-1] == ">")
    assert [line for line in rig.display() if line][-2] == "^C"
    assert run(rig, "echo on")["output"] == "on\n"
    assert "dropped" not in rig.finished()


@pytest.mark.parametrize("name", GATED)
def test_what_is_typed_at_a_held_command_is_kept_for_the_prompt(
    opened: Open, name: str, home: Path
) -> None:
    held = {**REMINDER, "held": True}
    rig = opened(name, answer=reminds("touch", "entered", held))
    rig.line("touch started")
    rig.expect("ctrl-C drops it")
    rig.for_a_while(0.3)
    rig.send("echo ke")
    rig.for_a_while(0.2)
    rig.send("pt\r")
    rig.until(lambda: count(rig, "finished") == 2)
    assert (home / "started").exists()
    assert [m["command"] for m in rig.messages if m["type"] == "finished"] == [
        "touch started",
        "echo kept",
    ]


@pytest.mark.parametrize("name", GATED)
def test_a_reminder_without_hold_is_seen_before_the_command_starts(
    opened: Open, name: str, home: Path
) -> None:
    rig = opened(name, answer=reminds("cat", "entered"))
    (home / "stamp").write_text("x")
    finished = run(rig, "cat stamp")
    assert finished["output"] == "x"
    seen = bytes(rig.output)
    assert seen.index(b"said so") < seen.rindex(b"x")


@each_shell
def test_the_first_command_of_a_new_history_is_told(opened: Open, name: str) -> None:
    rig = opened(name)
    assert run(rig, "echo first")["command"] == "echo first"


@each_shell
def test_a_first_command_kept_out_of_the_history_is_private(opened: Open, name: str) -> None:
    rig = opened(name)
    finished = run(rig, " echo secret-word")
    assert (finished["command"], finished["private"]) == ("", True)
