"""The same steps over and over, with the same results."""

from __future__ import annotations

import pytest
from scene import Scene, silent, spoken

from pmem.memory.rules import Rules


def test_one_command_that_gets_the_same_no_twice() -> None:
    scene = (
        Scene().ran("./submit answer", "Wrong answer!\n").ran("./submit answer", "Wrong answer!\n")
    )
    assert "steps 1 and 2" in spoken(scene.proposes("./submit answer"), scene).text
    assert silent(scene.proposes("./submit other"))


def test_the_same_yes_twice_is_no_loop() -> None:
    scene = Scene().ran("./deploy", "deployed\n").ran("./deploy", "deployed\n")
    assert silent(scene.proposes("./deploy"))


def test_another_answer_is_progress() -> None:
    scene = Scene().ran("./guess", "wrong: too low\n").ran("./guess", "wrong: too high\n")
    assert silent(scene.proposes("./guess"))


def test_a_round_of_two() -> None:
    scene = Scene(rules=Rules(only=["loop"]))
    for _ in range(2):
        scene.ran("gradle --use 8.11", "Could not resolve plugin\n", 1)
        scene.ran("gradle --use 8.12", "Unsupported class file\n", 1)
    said = spoken(scene.proposes("gradle --use 8.11"), scene)
    assert said.text.startswith("steps 3 and 4 repeated steps 1 and 2")


def test_a_round_that_ends_otherwise_is_none() -> None:
    scene = Scene(rules=Rules(only=["loop"]))
    for port in (80, 81):
        scene.ran("gradle --use 8.11", "Could not resolve plugin\n", 1)
        scene.ran("gradle --use 8.12", f"Port {port} in use\n", 1)
    assert silent(scene.proposes("gradle --use 8.11"))


def test_polling_is_no_loop() -> None:
    scene = Scene()
    for _ in range(2):
        scene.ran("sleep 5 && curl -s localhost/health", "error: not ready\n")
    assert silent(scene.proposes("sleep 5 && curl -s localhost/health"))


def test_a_rule_can_be_switched_off_by_name() -> None:
    everything, rest = Rules(), Rules(without=["loop"])
    assert {r.name for r in everything.rules} - {r.name for r in rest.rules} == {"loop"}
    with pytest.raises(ValueError, match="there is no rule 'lop'; there are "):
        Rules(without=["lop"])
