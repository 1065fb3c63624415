"""A proposed action that the user, the task or a rule file forbids."""

from __future__ import annotations

import pytest
from scene import Scene, silent, spoken

from pmem.core.decision import Trigger

FORBIDDEN = [
    ("Never force-push.", "git push -f origin main", "git push origin main"),
    ("Never force-push.", "git -C web push --force-with-lease", "git log --grep 'push --force'"),
    ("Do not run `rm -rf`.", "sudo rm -fr build", "rm build/a.o"),
    ("Use pnpm, not npm.", "npm install", "pnpm install"),
    ("Use `uv`, never `pip`.", "python -m pip install x", "uv pip install x"),
    ("No `sudo`.", "sudo make install", "make install"),
    ("Don't push directly to main.", "git push origin HEAD:main", "git push origin fix-login"),
    ("Never skip hooks.", "git commit -n -m x", "git commit -m x"),
    ("`terraform apply` is forbidden here.", "terraform apply -auto-approve", "terraform plan"),
    ("You must not add new dependencies.", "npm i left-pad", "npm ci"),
    ("Don't edit files under `vendor/`.", "sed -i s/a/b/ vendor/x/y.go", "cat vendor/x/y.go"),
    ("강제 푸시 금지.", "git push --force", "git push"),
    ("`git push --force`는 절대 사용하지 마세요.", "git push -f", "git push"),
    ("npm 대신 pnpm을 사용한다.", "npm install", "pnpm install"),
    ("main 브랜치에 직접 푸시하지 말 것.", "git push origin main", "git push origin dev"),
    ("sudo 사용 금지", "sudo ls", "ls"),
    ("`package-lock.json`은 수정하지 마세요.", "rm package-lock.json", "cat package-lock.json"),
    ("`npm` を使わないでください。", "npm ci", "pnpm i"),
    ("`git push --force` は禁止です。", "git push -f", "git push"),
    ("npm ではなく pnpm を使う。", "npm ci", "pnpm i"),
    ("禁止使用 `npm`。", "npm ci", "pnpm i"),
    ("不要直接推送到 main 分支。", "git push origin main", "git push origin dev"),
    ("使用 pnpm 而不是 npm。", "npm ci", "pnpm i"),
]


@pytest.mark.parametrize("rule, breaks, keeps", FORBIDDEN)
def test_what_a_rule_file_forbids_is_quoted_with_its_line(
    rule: str, breaks: str, keeps: str
) -> None:
    scene = Scene(AGENTS_md=f"# House rules\n\n- Be kind.\n- {rule}\n")
    said = spoken(scene.proposes(breaks), scene)
    assert "AGENTS.md:4" in said.text and rule in said.text
    assert said.sure
    assert said.entries == ("agents.md-4",)
    assert silent(scene.proposes(keeps))


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn 'git push --force' docs",
        "echo 'git push --force is forbidden' >> NOTES.md",
        "cat <<'X' > notes.txt\ngit push --force\nX",
        'git commit -m "never git push --force"',
        "git push --force --dry-run",
    ],
)
def test_a_command_that_only_names_it_is_fine(command: str) -> None:
    assert silent(Scene(AGENTS_md="Never force-push.\n").proposes(command))


@pytest.mark.parametrize(
    "text",
    [
        "Never run `npm install` in the web directory.",
        "Do not use `any`.",
        "Do not forget to run `npm install`.",
        "Why not use npm?",
        "Rewind restores files (does not use `npm install`).",
        "So I don't commit .claude/settings.json?",
        "Never run `npm install` when offline.",
        "Bad example:\n```\nnever run npm install\n```",
        "npm install을 잊지 마세요.",
    ],
)
def test_what_is_only_half_understood_is_left_alone(text: str) -> None:
    scene = Scene(CLAUDE_md=text)
    assert not scene.bank.knowledge
    assert silent(scene.proposes("npm install")) and silent(scene.proposes("git commit -m x"))


def test_the_users_own_words_count_from_when_they_are_said() -> None:
    scene = Scene("Fix the login page")
    assert silent(scene.proposes("git commit -am fix"))
    scene.said("Please don't commit, I want to look at it first.")
    said = spoken(scene.proposes("git commit -am fix"), scene)
    assert said.text.startswith("The user said: “Please don't commit") and said.sure


def test_the_task_forbids_too() -> None:
    scene = Scene("Port the parser. Do not modify `tests/`.")
    said = spoken(scene.proposes_edit("Edit tests/test_parser.py\n--- old\na\n--- new\nb"), scene)
    assert "The task says" in said.text
    assert silent(scene.proposes_edit("Edit src/parser.py\n--- old\ntests/\n--- new\nb"))


def test_what_the_user_asks_for_is_allowed() -> None:
    scene = Scene(AGENTS_md="Never commit unless the user asks.\n")
    assert not spoken(scene.proposes("git commit -am fix"), scene).sure
    scene.said("Looks good, commit it")
    assert silent(scene.proposes("git commit -am fix"))


def test_without_running_the_tests_means_since_the_last_edit() -> None:
    scene = Scene(AGENTS_md="Never commit without running the tests.\n").edited()
    said = spoken(scene.proposes("git commit -am fix"), scene)
    assert "last edit (step 1)" in said.text and not said.sure
    scene.ran("npm test", "12 passing\n")
    assert silent(scene.proposes("git commit -am fix"))
    scene.edited()
    assert not silent(scene.proposes("git commit -am fix"))


def test_an_entry_that_a_person_deleted_is_not_brought_up() -> None:
    scene = Scene(AGENTS_md="Never force-push.\n")
    scene.bank.remove("agents.md-1")
    assert silent(scene.proposes("git push -f"))


def test_a_rule_that_left_the_file_leaves_the_bank() -> None:
    bank = Scene(AGENTS_md="\nNever force-push.\n").bank
    assert bank.get("agents.md-2") is not None
    scene = Scene(bank=bank, AGENTS_md="Never force-push.\n")
    assert [e.id for e in scene.bank.knowledge] == ["agents.md-1"]
    assert scene.after(Trigger.INTERVAL)
