"""A formatter ran since a file was read, and an exact edit failed for that before."""

from __future__ import annotations

from scene import Scene, silent, spoken

GONE = "Error: could not find the exact text in src/cart.ts"
EDIT = "Edit src/pay.ts\n--- old\na\n--- new\nb"


def learned() -> Scene:
    return (
        Scene()
        .read("src/cart.ts")
        .ran("npm run check", "Checked 8 files. Fixed 1 file.\n")
        .edited("src/cart.ts", GONE)
        .read("src/cart.ts")
        .edited("src/cart.ts")
    )


def test_the_next_time_it_is_told_beforehand() -> None:
    scene = learned().read("src/pay.ts").ran("npm run check", "Checked 8 files. Fixed 1 file.\n")
    said = spoken(scene.proposes_edit(EDIT), scene)
    assert "`npm run check` ran at step 7" in said.text
    assert "last read at step 6" in said.text and "at step 3" in said.text


def test_a_file_read_after_it_is_fresh() -> None:
    scene = learned().ran("npm run check", "Fixed 1 file.\n").read("src/pay.ts")
    assert silent(scene.proposes_edit(EDIT))


def test_files_of_another_kind_are_not_touched_by_it() -> None:
    scene = learned().read("docs/a.md").ran("npm run check", "Fixed 1 file.\n")
    assert silent(scene.proposes_edit("Edit docs/a.md\n--- old\na\n--- new\nb"))


def test_before_anything_failed_nothing_is_known() -> None:
    scene = Scene().read("src/pay.ts").ran("npm run check", "Fixed 1 file.\n")
    assert silent(scene.proposes_edit(EDIT))
