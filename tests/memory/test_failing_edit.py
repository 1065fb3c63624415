"""A file whose edits failed again and again is about to be edited once more."""

from __future__ import annotations

from scene import Scene, silent, spoken

from pmem.core.step import Step

GONE = "Error: String to replace not found in file."
EDIT = "Edit src/cart.js\n--- old\na\n--- new\nb"


def test_after_two_failures_the_third_attempt_is_told() -> None:
    scene = Scene().edited("src/cart.js", GONE).read("src/cart.js").edited("src/cart.js", GONE)
    said = spoken(scene.proposes_edit(EDIT), scene)
    assert said.text == (
        "Edits of src/cart.js failed at steps 1 and 3 (“Error: String to replace not found in"
        " file”); none of them changed it. It was last read at step 2."
    )
    assert not said.sure and said.entries == ("edits-src-cart.js",)


def test_one_failure_is_left_alone() -> None:
    assert silent(Scene().edited("src/cart.js", GONE).proposes_edit(EDIT))


def test_another_file_is_another_matter() -> None:
    scene = Scene().edited("src/pay.js", GONE).edited("src/pay.js", GONE)
    assert silent(scene.proposes_edit(EDIT))


def test_an_edit_that_worked_ends_it() -> None:
    scene = Scene().edited("src/cart.js", GONE).edited("src/cart.js", GONE).edited("src/cart.js")
    assert silent(scene.proposes_edit(EDIT))


def test_two_calls_of_one_batch_are_one_attempt() -> None:
    scene = Scene()
    for _ in range(2):
        scene.step(Step(0, "edit", "Edit src/cart.js", GONE, is_error=True, turn=3))
    assert silent(scene.proposes_edit(EDIT))


def test_a_call_that_was_never_carried_out_is_none() -> None:
    scene = Scene()
    for turn in (1, 2, 3):
        unread = "Error: File has not been read yet."
        scene.step(Step(0, "edit", "Edit src/cart.js", unread, is_error=True, turn=turn))
    assert silent(scene.proposes_edit(EDIT))


def test_an_editor_that_edits_lines_of_the_open_file() -> None:
    refused = "Your proposed edit has introduced new syntax error(s).\n- E999 unmatched ')'"
    scene = Scene()
    for _ in range(2):
        scene.step(Step(0, "edit", "edit 12:14\n    x = (\nend_of_edit", refused))
    assert "12:14" in spoken(scene.proposes_edit("edit 12:14\n  x = (1)\nend_of_edit"), scene).text
    assert silent(scene.proposes_edit("edit 12:15\n  x = (1)\nend_of_edit"))
