"""A command that failed twice alike, with nothing changed since, is about to run again."""

from __future__ import annotations

import pytest
from scene import PROJECT, Scene, silent, spoken

from pmem.core.moment import Changed

MISSING = "node:internal/modules/cjs/loader\nError: Cannot find module './db'\n"


def failed_twice(**scene: object) -> Scene:
    return (
        Scene(**scene)  # type: ignore[arg-type]
        .ran("npm test", MISSING, 1)
        .ran("cat package.json", "{}")
        .ran("npm test", MISSING, 1)
        .ran("ls", "src\n")
    )


def test_the_third_identical_run_is_told_with_steps_and_reason_and_may_be_held() -> None:
    scene = failed_twice()
    said = spoken(scene.proposes("npm test"), scene)
    assert said.text == (
        "`npm test` failed twice alike, at steps 1 and 3"
        " (exit 1: “Error: Cannot find module './db'”); no change is recorded since."
    )
    assert said.sure
    assert said.entries == ("npm-test",)


def test_a_first_repetition_is_left_alone() -> None:
    assert silent(Scene().ran("npm test", MISSING, 1).ran("ls", "src\n").proposes("npm test"))


def test_the_same_command_written_otherwise_is_the_same() -> None:
    scene = failed_twice()
    assert spoken(scene.proposes("npm  test 2>&1 | tail -20"), scene).sure


def test_another_command_is_none_of_its_business() -> None:
    assert silent(failed_twice().proposes("npm run lint"))


def test_the_same_command_elsewhere_is_another() -> None:
    assert silent(failed_twice().proposes("npm test", f"{PROJECT}/web"))


@pytest.mark.parametrize(
    "change",
    [
        lambda scene: scene.edited(),
        lambda scene: scene.ran("npm install", "added 3 packages\n"),
        lambda scene: scene.ran("sed -i s/a/b/ src/app.js"),
        lambda scene: scene.ran("echo x > src/db.js"),
        lambda scene: scene.ran("export NODE_ENV=test"),
        lambda scene: scene.said("I have started the database, try again"),
    ],
)
def test_a_change_in_between_keeps_it_silent(change) -> None:  # type: ignore[no-untyped-def]
    assert silent(change(failed_twice()).proposes("npm test"))


def test_a_file_changed_by_someone_else_keeps_it_silent() -> None:
    assert silent(failed_twice(files=Changed.YES).proposes("npm test"))


def test_it_is_not_sure_where_nobody_could_look_at_the_files() -> None:
    scene = failed_twice(files=Changed.UNKNOWN)
    assert not spoken(scene.proposes("npm test"), scene).sure


def test_it_is_not_sure_after_a_command_nobody_knows() -> None:
    scene = failed_twice().ran("./refresh", "done\n")
    assert not spoken(scene.proposes("npm test"), scene).sure


def test_two_different_failures_are_no_repetition() -> None:
    scene = Scene().ran("npm test", MISSING, 1).ran("npm test", "AssertionError: 2 != 3\n", 1)
    assert silent(scene.proposes("npm test"))


def test_a_success_in_between_ends_it() -> None:
    scene = failed_twice().ran("npm test", "ok\n")
    assert silent(scene.proposes("npm test"))


def test_failures_that_pass_by_themselves_are_never_sure() -> None:
    refused = "curl: (7) Failed to connect to localhost port 80: Connection refused\n"
    scene = Scene().ran("npm run e2e", refused, 7).ran("npm run e2e", refused, 7)
    found = scene.proposes("npm run e2e")
    assert silent(found) or not found.sure  # type: ignore[union-attr]


@pytest.mark.parametrize("command", ["gh pr checks 12", "sleep 5; curl -sf localhost:8080"])
def test_polling_is_left_alone(command: str) -> None:
    scene = Scene().ran(command, "pending\n", 1).ran(command, "pending\n", 1)
    assert silent(scene.proposes(command))


@pytest.mark.parametrize("command", ["grep -r needle src", "diff a b"])
def test_exit_1_of_a_question_is_an_answer(command: str) -> None:
    scene = Scene().ran(command, "", 1).ran(command, "", 1)
    assert silent(scene.proposes(command))


def test_a_command_that_was_stopped_did_not_fail_alike() -> None:
    scene = Scene().ran("npm start", "^C\n", 130).ran("npm start", "^C\n", 130)
    assert silent(scene.proposes("npm start"))


def test_it_tells_the_form_that_worked() -> None:
    scene = (
        Scene()
        .ran("python report.py", "bash: python: command not found\n", 127)
        .ran("python report.py", "bash: python: command not found\n", 127)
        .ran("python3 report.py", "42 rows\n")
    )
    said = spoken(scene.proposes("python report.py"), scene)
    assert said.text.endswith("`python3 report.py` passed at step 3.")


@pytest.mark.parametrize(
    "task, words",
    [
        ("테스트를 고쳐 주세요", "1, 3단계에서 2번 똑같이 실패했습니다"),
        ("テストを直してください", "ステップ1、3で2回、同じように失敗しています"),
        ("请修复测试", "在第 1、3 步以同样方式失败了 2 次"),
    ],
)
def test_it_speaks_the_language_of_the_task(task: str, words: str) -> None:
    scene = failed_twice(task=task)
    assert words in spoken(scene.proposes("npm test"), scene).text
