"""What is told when the agent ends its turn: claims, open ends, names that were never used."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scene import Scene, silent, spoken

from pmem.core.decision import Decision, Trigger

TASK = "Host the project over SSH at git@localhost:/git/shop and log to /app/out/run.log."


def closes(scene: Scene, message: str) -> Decision:
    return scene.rules.decide(replace(scene.moment(Trigger.FINISH), message=message))


@pytest.mark.parametrize(
    "message",
    [
        "All tests pass now.",
        "테스트가 모두 통과합니다.",
        "テストはすべて通ります。",
        "所有测试均通过。",
    ],
)
def test_a_claim_that_the_last_run_contradicts(message: str) -> None:
    scene = Scene().edited().ran("npm test", "1 failing\nError: no cart\n", 1)
    assert "`npm test`" in spoken(closes(scene, message), scene).text


def test_a_claim_older_than_the_last_edit() -> None:
    scene = Scene().ran("npm test", "12 passing\n").edited()
    assert "before the last edit" in spoken(closes(scene, "All tests pass."), scene).text


@pytest.mark.parametrize("message", ["All tests pass.", "Done.", "I did not run the tests."])
def test_a_claim_that_holds_or_none(message: str) -> None:
    scene = Scene().edited().ran("npm test", "12 passing\n")
    assert silent(closes(scene, message))
    assert silent(closes(Scene().edited().ran("npm test", "1 failing\n", 1), "Two tests are red."))


def test_a_name_of_the_task_that_no_step_used() -> None:
    scene = (
        Scene(TASK).ran("touch /app/out/run.log").ran("echo git@localhost:/git/shop ready", "…\n")
    )
    said = spoken(scene.after(Trigger.FINISH), scene)
    assert "git@localhost:/git/shop" in said.text and "run.log" not in said.text


def test_once_used_it_is_no_matter() -> None:
    scene = Scene(TASK).ran("tee run.log < x").ran("git clone git@localhost:/git/shop", "ok\n")
    assert silent(scene.after(Trigger.FINISH))
    assert not [e for e in scene.bank.knowledge if "named-in-task" in e.tags]


def left_alone(scene: Scene) -> Scene:
    for n in range(12):
        scene.read(f"src/{n}.js")
    return scene


def test_a_stash_that_was_not_popped() -> None:
    scene = left_alone(Scene().ran("git stash", "Saved working directory\n"))
    assert "Still stashed: `git stash` (step 1)" in spoken(scene.after(Trigger.FINISH), scene).text


def test_a_server_that_runs_on() -> None:
    scene = left_alone(Scene().ran("npm start &", ""))
    assert "background" in spoken(scene.after(Trigger.FINISH), scene).text


@pytest.mark.parametrize(
    "opened, closed",
    [
        ("git stash", "git stash pop"),
        ("git worktree add ../x", "git worktree remove ../x"),
        ("npm start &", "kill %1"),
    ],
)
def test_what_was_closed_is_closed(opened: str, closed: str) -> None:
    assert silent(left_alone(Scene().ran(opened, "").ran(closed, "")).after(Trigger.FINISH))


def test_what_is_in_use_is_not_left_open() -> None:
    assert silent(Scene().ran("git worktree add ../x", "ok\n").after(Trigger.FINISH))
