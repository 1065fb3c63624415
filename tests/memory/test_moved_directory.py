"""A search found nothing, and looked only where an earlier `cd` had led."""

from __future__ import annotations

from scene import PROJECT, Scene, silent, spoken

from pmem.core.step import Step


def moved(search: str = 'Grep pattern="cart"', found: str = "No matches found") -> Scene:
    scene = Scene().ran("cd web && npm run build", "built\n", cwd=PROJECT)
    return scene.step(Step(0, "read", search, found, cwd=f"{PROJECT}/web", tool="Grep"))


def test_it_is_told_where_the_search_looked() -> None:
    scene = moved()
    said = spoken(scene.proposes("ls"), scene)
    assert said.text.startswith("Since step 1 the working directory is `web`")


def test_a_search_with_a_path_knew_where_it_looked() -> None:
    assert silent(moved('Grep pattern="cart" path="/home/kim/shop"').proposes("ls"))


def test_a_search_that_found_something() -> None:
    assert silent(moved(found="cart.js:3: cart").proposes("ls"))


def test_in_the_projects_own_directory_nothing_was_missed() -> None:
    scene = Scene().ran("cd web && npm run build", "built\n")
    scene.step(Step(0, "read", 'Grep pattern="cart"', "No matches found", cwd=PROJECT))
    assert silent(scene.proposes("ls"))
