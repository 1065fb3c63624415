"""fish: what is its own."""

from __future__ import annotations

from shells import Open, count, run


def test_in_private_mode_everything_is_private(opened: Open) -> None:
    rig = opened("fish", rc="set -g fish_private_mode 1")
    finished = run(rig, "echo something")
    assert (finished["command"], finished["private"], finished["exit_code"]) == ("", True, 0)


def test_an_abbreviation_is_told_expanded(opened: Open) -> None:
    rig = opened("fish", rc="abbr -a hi 'echo hello'")
    rig.send("hi ")
    rig.for_a_while(0.3)
    assert run(rig, "you")["command"] == "echo hello you"


def test_a_command_that_does_not_parse_is_no_step(opened: Open) -> None:
    rig = opened("fish")
    rig.line("echo (")
    rig.for_a_while(0.3)
    rig.send("\x03")
    rig.for_a_while(0.3)
    run(rig, "echo fine")
    assert count(rig, "entered") == 1


def test_events_of_the_user_fire(opened: Open) -> None:
    rig = opened("fish", rc="function mine --on-event fish_postexec; echo post $status; end")
    rig.line("sh -c 'exit 8'")
    rig.expect("post 8")
    rig.until(lambda: count(rig, "finished"))
    assert rig.finished()["exit_code"] == 8
