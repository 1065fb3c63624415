"""The digest after a compaction: what holds and what is open, in few words."""

from __future__ import annotations

import pytest
from scene import Scene

from pmem.core.decision import Reminder, Trigger
from pmem.memory.rules import digest
from pmem.memory.rules.digest import MAX_CHARS

FAILED = "src/a.c:4: error: expected ';'\n"


def compacted(scene: Scene) -> Reminder | None:
    return digest.look(scene.moment(Trigger.COMPACTION))


def test_it_names_the_rules_in_force_and_the_commands_that_still_fail() -> None:
    scene = Scene(AGENTS_md="- Never force-push.\n")
    scene.ran("make", FAILED, 2).ran("npm test", "1 failing\n", 1).ran("npm test", "ok\n", 0)
    found = compacted(scene)
    assert found is not None
    assert "AGENTS.md:1 says: “Never force-push.”" in found.text
    assert "`make`, at step 1" in found.text and "expected ';'" in found.text
    assert "npm test" not in found.text
    assert set(found.entries) <= scene.bank.entries.keys() and len(found.entries) == 2


def test_it_stays_short_however_much_there_is() -> None:
    rules = "".join(f"- Never run `tool{n} {'x' * 300}`.\n" for n in range(50))
    scene = Scene(AGENTS_md=rules)
    for n in range(50):
        scene.ran(f"make target{n} {'y' * 300}", FAILED * 50, 2)
    found = compacted(scene)
    assert found is not None and len(found.text) <= MAX_CHARS


def test_with_nothing_at_stake_it_says_nothing() -> None:
    assert compacted(Scene().ran("make", "ok\n", 0)) is None


def test_at_any_other_moment_it_says_nothing() -> None:
    scene = Scene().ran("make", FAILED, 2)
    for trigger in Trigger:
        if trigger is not Trigger.COMPACTION:
            assert digest.look(scene.moment(trigger)) is None


@pytest.mark.parametrize(
    "task, words",
    [("빌드를 고쳐 줘", "아직 실패"), ("ビルドを直して", "まだ失敗"), ("修复构建", "仍然失败")],
)
def test_it_speaks_the_language_of_the_task(task: str, words: str) -> None:
    found = compacted(Scene(task).ran("make", FAILED, 2))
    assert found is not None and words in found.text
