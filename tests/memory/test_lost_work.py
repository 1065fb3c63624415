"""Edits that are not committed are about to be taken away."""

from __future__ import annotations

import pytest
from scene import Scene, silent, spoken


def edited() -> Scene:
    scene = Scene().edited("/home/kim/shop/src/cart.js").edited("/home/kim/shop/src/pay.js")
    for n in range(4):
        scene.read(f"src/{n}.js")
    return scene


@pytest.mark.parametrize(
    "command",
    [
        "git stash",
        "git stash push -u",
        "git reset --hard HEAD~1",
        "git checkout .",
        "git restore .",
    ],
)
def test_it_is_told_which_files_would_go(command: str) -> None:
    scene = edited()
    said = spoken(scene.proposes(command), scene)
    assert "src/cart.js (step 1), src/pay.js (step 2)" in said.text and not said.sure


@pytest.mark.parametrize(
    "command",
    [
        "git stash list",
        "git stash && npm test; git stash pop",
        "git checkout -b fix",
        "git restore --staged src/pay.js",
        "git checkout -- src/pay.js",
        "git restore src/pay.js",
        "git reset src/pay.js",
        "git log --grep 'git stash'",
    ],
)
def test_what_takes_nothing_away_is_fine(command: str) -> None:
    assert silent(edited().proposes(command))


def test_after_a_commit_nothing_can_be_lost() -> None:
    scene = edited().ran("git commit -am 'cart and pay'", "2 files changed\n")
    assert silent(scene.proposes("git stash"))


def test_a_commit_in_a_scratch_repository_is_another() -> None:
    scene = edited().ran("cd /tmp/x && git init && git commit -am t", "ok\n")
    assert not silent(scene.proposes("git stash"))


def test_without_own_edits_the_stash_is_the_users() -> None:
    assert silent(Scene().read().proposes("git stash"))
