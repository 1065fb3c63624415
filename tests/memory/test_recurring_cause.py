"""A failure that is back although something was changed, or by way of another command."""

from __future__ import annotations

import pytest
from scene import Scene, silent, spoken

from pmem.core.decision import Trigger

DENIED = "connect.js: Error: password authentication failed for user 'shop'\n"
RED = "--- FAIL: TestCheckout (0.01s)\n    cart_test.go:{line}: got {got}, want 3\nFAIL\n"


def after(scene: Scene) -> object:
    return scene.after(Trigger.FAILURE)


def test_the_same_failure_after_an_edit_is_told_with_the_edit() -> None:
    scene = (
        Scene().ran("npm run seed", DENIED, 1).edited("config.js").ran("npm run seed", DENIED, 1)
    )
    said = spoken(after(scene), scene)  # type: ignore[arg-type]
    assert said.text == (
        "The failure at step 3 is the one of step 1 again: “connect.js: Error: password"
        " authentication failed for user 'shop'”. The edits at step 2 in between did not change it."
    )
    assert not said.sure


def test_the_same_failure_by_another_command() -> None:
    scene = Scene().ran("npm run seed", DENIED, 1).ran("ls", "src\n").ran("node seed.js", DENIED, 1)
    assert "step 1 again" in spoken(after(scene), scene).text  # type: ignore[arg-type]


def test_a_plain_repetition_waits_for_the_third_time() -> None:
    scene = Scene().ran("npm run seed", DENIED, 1).ran("npm run seed", DENIED, 1)
    assert silent(after(scene))  # type: ignore[arg-type]


def test_the_third_time_is_told_in_other_words() -> None:
    scene = Scene().ran("npm run seed", DENIED, 1).edited().ran("npm run seed", DENIED, 1)
    first = spoken(after(scene), scene)  # type: ignore[arg-type]
    scene.edited().ran("npm run seed", DENIED, 1)
    again = spoken(after(scene), scene)  # type: ignore[arg-type]
    assert again.relapse and not first.relapse and again.cause == first.cause
    assert "steps 1 and 3" in again.text and "step 5" in again.text


def test_the_same_tests_red_although_the_message_differs() -> None:
    scene = (
        Scene()
        .ran("go test ./...", RED.format(line=10, got=1), 1)
        .edited("cart.go")
        .ran("go test ./...", RED.format(line=14, got="no cart at all"), 1)
    )
    assert "TestCheckout" in spoken(after(scene), scene).text  # type: ignore[arg-type]


MISSING = "cat: {}: No such file or directory\n"


@pytest.mark.parametrize("task", ["Make the shop work.", "가게가 돌아가게 해 주세요"])
def test_two_missing_files_are_two_causes(task: str) -> None:
    scene = Scene(task).ran("cat log1.txt", MISSING.format("log1.txt"), 1)
    assert silent(after(scene.ran("cat log2.txt", MISSING.format("log2.txt"), 1)))  # type: ignore[arg-type]
    assert silent(after(scene.ran("cat b/log1.txt", MISSING.format("b/log1.txt"), 1)))  # type: ignore[arg-type]
    assert not silent(after(scene.edited().ran("head log1.txt", MISSING.format("log1.txt"), 1)))  # type: ignore[arg-type]


def test_another_value_is_another_failure() -> None:
    scene = Scene().ran("node t.js", "AssertionError: got 3, want 5\n", 1).edited()
    assert silent(after(scene.ran("node t.js", "AssertionError: got 4, want 5\n", 1)))  # type: ignore[arg-type]
    scene.edited().ran("node t.js", "AssertionError: got 4, want 5\n", 1)
    assert "step 3 again" in spoken(after(scene), scene).text  # type: ignore[arg-type]


def test_place_time_and_address_are_no_other_failure() -> None:
    line = "Error at app.js:{}: pool 0x{} closed after {}s\n"
    scene = Scene().ran("node t.js", line.format(12, "7fa0", 1.5), 1).edited()
    scene.ran("node t.js", line.format(14, "81b3", 2.25), 1)
    assert not silent(after(scene))  # type: ignore[arg-type]


def test_fewer_tests_red_is_progress_though_one_line_is_the_same() -> None:
    red = "--- FAIL: TestPay (0.01s)\n--- FAIL: TestCart (0.01s)\n    db: no table carts\n"
    scene = Scene().ran("go test ./...", red, 1).edited("pay.go")
    assert silent(after(scene.ran("go test ./...", red.partition("\n")[2], 1)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "task, words",
    [("Make it work", "whatever command"), ("가게를 고쳐 주세요", "명령을 바꿔도")],
)
def test_the_same_command_again_is_not_told_as_another(task: str, words: str) -> None:
    scene = Scene(task).ran("npm run seed", DENIED, 1)
    scene.ran("sed -i s/a/b/ config.js").ran("npm run seed", DENIED, 1)
    scene.ran("sed -i s/b/c/ config.js").ran("npm run seed", DENIED, 1)
    text = spoken(after(scene), scene).text  # type: ignore[arg-type]
    assert words not in text and "2" in text and "4" in text
    scene = Scene(task).ran("npm run seed", DENIED, 1).ran("npm ci").ran("npm run seed", DENIED, 1)
    scene.ran("npm ci").ran("npm run seed", DENIED, 1)
    assert words not in spoken(after(scene), scene).text  # type: ignore[arg-type]
    scene.ran("node seed.js", DENIED, 1)
    assert words in spoken(after(scene), scene).text  # type: ignore[arg-type]


def test_other_tests_red_is_progress() -> None:
    scene = (
        Scene()
        .ran("go test ./...", "--- FAIL: TestCart (0.01s)\n    a_test.go:1: no cart\n", 1)
        .edited("cart.go")
        .ran("go test ./...", "--- FAIL: TestPay (0.01s)\n    b_test.go:1: no pay\n", 1)
    )
    assert silent(after(scene))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "output",
    [
        "src/a.ts(3,7): error TS2304: Cannot find name 'cart'.\n",
        "src/a.c:3:7: error: expected ';'\n",
    ],
)
def test_edit_and_compile_is_the_way_to_work(output: str) -> None:
    scene = Scene().ran("make", output, 2).edited("src/a.ts").ran("make", output, 2)
    assert silent(after(scene))  # type: ignore[arg-type]


@pytest.mark.parametrize("output", ["FAIL\n", "2 tests failed\n", "make: *** [all] Error 2\n"])
def test_a_line_that_names_no_cause_is_none(output: str) -> None:
    scene = Scene().ran("make", output, 2).edited().ran("make check", output, 2)
    assert silent(after(scene))  # type: ignore[arg-type]


def test_a_run_on_stashed_work_is_a_comparison() -> None:
    scene = Scene().ran("npm run seed", DENIED, 1).edited()
    scene.ran("git stash && npm run seed; git stash pop", DENIED, 1)
    assert silent(after(scene))  # type: ignore[arg-type]


def test_polling_is_none() -> None:
    scene = Scene().ran("gh pr checks 7", DENIED, 1).edited().ran("gh pr checks 7", DENIED, 1)
    assert silent(after(scene))  # type: ignore[arg-type]


def test_what_lies_far_back_is_another_story() -> None:
    scene = Scene().ran("npm run seed", DENIED, 1)
    for n in range(40):
        scene.read(f"src/{n}.js")
    assert silent(after(scene.edited().ran("npm run seed", DENIED, 1)))  # type: ignore[arg-type]


def test_siblings_of_one_batch_count_once() -> None:
    from pmem.core.step import Step

    scene = Scene()
    for name in ("a", "b"):
        scene.step(Step(0, "command", f"node {name}.js", DENIED, exit_code=1, turn=4))
    assert silent(after(scene))  # type: ignore[arg-type]


def test_it_is_told_in_korean() -> None:
    scene = Scene("시드 스크립트를 고쳐 주세요")
    scene.ran("npm run seed", DENIED, 1).edited().ran("npm run seed", DENIED, 1)
    text = spoken(after(scene), scene).text  # type: ignore[arg-type]
    assert text.startswith("3단계의 실패는 1단계와 같은 실패입니다")
