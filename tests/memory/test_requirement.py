"""Checks that were asked for have not been run since the last edit."""

from __future__ import annotations

import pytest
from scene import Scene, silent, spoken

from pmem.core.decision import Trigger
from pmem.memory.rules.requirement import checks

RULES = """# Shop

## Before every commit (required)

```bash
npm run fmt
npm run lint      # eslint
npm test
```
"""


@pytest.mark.parametrize(
    "text, works",
    [
        (RULES, ["format", "lint", "test"]),
        ("Always run `npm test` before committing.", ["test"]),
        ("Make sure all tests pass before you push.", ["test"]),
        ("커밋하기 전에 `npm test`를 실행한다.", ["test"]),
        ("コミットする前に `npm run lint` を実行してください。", ["lint"]),
        ("提交之前必须运行 `npm test`。", ["test"]),
    ],
)
def test_what_a_text_asks_for(text: str, works: list[str]) -> None:
    assert [check.work for check in checks(text)] == works


@pytest.mark.parametrize(
    "text",
    [
        "Run `npm test` if you like.",
        "You can always run `npm test` when something fails.",
        "Never run `npm test` before committing.",
        "## Testing\n```\nnpm test\n```",
    ],
)
def test_what_it_does_not(text: str) -> None:
    assert checks(text) == ()


def test_a_commit_without_them_is_told_with_the_place() -> None:
    scene = Scene(CLAUDE_md=RULES).edited()
    said = spoken(scene.proposes("git commit -am cart"), scene)
    assert "CLAUDE.md:8 says: “Before every commit (required): npm test”" in said.text
    assert "Since the last edit (step 1) no test run is recorded." in said.text
    assert not said.sure


def test_of_two_the_missing_one_is_named() -> None:
    scene = Scene(CLAUDE_md=RULES).edited().ran("npm test", "12 passing\n")
    said = spoken(scene.proposes("git commit -am cart"), scene)
    assert "`npm test` ran (step 2), but no lint run is recorded" in said.text


def test_formatting_alone_is_not_worth_a_word() -> None:
    scene = Scene(CLAUDE_md=RULES).edited().ran("npm test", "ok\n").ran("npm run lint", "ok\n")
    assert silent(scene.proposes("git commit -am cart"))


def test_an_edit_makes_it_necessary_again() -> None:
    scene = Scene(CLAUDE_md="Always run `npm test` before committing.").edited()
    scene.ran("npm test", "12 passing\n").edited()
    assert not silent(scene.proposes("git commit -am cart"))


@pytest.mark.parametrize(
    "command",
    ["git status", "git commit --dry-run", "cd /tmp/scratch && git commit -am x", "npm run commit"],
)
def test_other_commands_and_other_repositories(command: str) -> None:
    assert silent(Scene(CLAUDE_md=RULES).edited().proposes(command))


def test_a_document_needs_no_test() -> None:
    assert silent(Scene(CLAUDE_md=RULES).edited("README.md").proposes("git commit -am docs"))


def test_at_the_finish_only_who_asked_for_it_is_quoted() -> None:
    assert silent(Scene(CLAUDE_md=RULES).edited().after(Trigger.FINISH))
    scene = Scene("Fix the cart. Make sure all tests pass before you finish.").edited()
    said = spoken(scene.after(Trigger.FINISH), scene)
    assert "The task says" in said.text
    assert silent(scene.ran("npm test", "12 passing\n").after(Trigger.FINISH))
