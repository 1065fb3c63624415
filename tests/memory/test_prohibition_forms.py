"""The words a prohibition comes in, and what of a command is meant by it."""

from __future__ import annotations

import pytest
from scene import Scene, silent, spoken

LOOKS = [
    ("Don't `git stash`.", "git stash list"),
    ("Don't `git stash`.", "git stash show -p stash@{0}"),
    ("Don't `git stash`.", "git stash --help"),
    ("`git stash`는 쓰지 마세요.", "git stash list"),
    ("Never use `git clean`.", "git clean -fdn"),
    ("Never run `make deploy`.", "make -n deploy"),
]
DOES = [
    ("Don't `git stash`.", "git stash"),
    ("Don't `git stash`.", "git stash push -m list"),
    ("`git stash`는 쓰지 마세요.", "git stash pop"),
    ("Never use `git clean`.", "git clean -fd"),
    ("Never skip hooks.", "git commit -n -m x"),
    ("Don't use `rm`.", "rm list"),
]


def says(rule: str, command: str) -> bool:
    """Whether a rule file of this one rule has something to say to a command."""
    scene = Scene(AGENTS_md=f"{rule}\n")
    decision = scene.proposes(command)
    return not silent(decision) and rule in spoken(decision, scene).text


@pytest.mark.parametrize("rule, command", LOOKS)
def test_a_look_at_what_is_there_is_not_what_is_forbidden(rule: str, command: str) -> None:
    assert not says(rule, command)


@pytest.mark.parametrize("rule, command", DOES)
def test_doing_it_is(rule: str, command: str) -> None:
    assert says(rule, command)


@pytest.mark.parametrize("definition", ["f(){ make deploy; }", "function f { make deploy; }"])
@pytest.mark.parametrize("rule", ["Never run `make deploy`.", "`make deploy`는 실행하지 마세요."])
def test_a_function_that_is_only_defined_runs_nothing(rule: str, definition: str) -> None:
    assert not says(rule, definition) and not says(rule, f"{definition}; ls")
    assert says(rule, f"{definition}; f")
