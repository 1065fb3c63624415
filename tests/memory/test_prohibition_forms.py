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


#: A rule, what breaks it, and what is near it and does not.
FORMS = [
    ("Avoid `sudo`.", "sudo make install", "make install"),
    ("Please avoid using `sudo`.", "sudo ls", "ls"),
    ("`npm publish` must not be run.", "npm publish", "npm test"),
    ("`npm publish` can't be used here.", "npm publish", "npm test"),
    ("Under no circumstances run `dropdb`.", "dropdb shop", "psql shop"),
    ("Under no circumstances should you run `dropdb`.", "dropdb shop", "psql shop"),
    ("You should never run `fetch`.", "fetch x", "git fetch"),
    ("`ansible` is forbidden.", "ansible all -m ping", "ansible-playbook site.yml"),
    ("Running `ansible` is forbidden.", "ansible all -m ping", "which ansible"),
    ("Forbidden: `npm publish`", "npm publish", "npm test"),
    ("Forbidden commands: `frob`, `b`", "b x", "echo b"),
    ("Never: npm publish", "npm publish", "npm test"),
    ("DO NOT: `npm publish`", "npm publish", "npm test"),
    ("❌ `terraform destroy`", "terraform destroy", "terraform plan"),
    ("❌ Never run `terraform destroy`", "terraform destroy", "terraform plan"),
    ('Never run "npm publish".', "npm publish", "npm test"),
    ("Never run 'npm publish'.", "npm publish", "npm test"),
    ('Use "python3", not "python".', "python x.py", "python3 x.py"),
    ("`sudo`는 피하세요.", "sudo ls", "ls"),
    ("`npm publish`는 실행해서는 안 됩니다.", "npm publish", "npm test"),
    ("어떤 경우에도 `dropdb`를 실행하지 마세요.", "dropdb shop", "psql shop"),
    ("절대 `fetch`를 실행하지 마세요.", "fetch x", "git fetch"),
    ("`ansible`은 금지입니다.", "ansible all", "which ansible"),
    ("금지: `npm publish`", "npm publish", "npm test"),
    ("금지 명령어: `frob`, `npm publish`", "frob", "npm test"),
    ("하지 말 것: `npm publish`", "npm publish", "npm test"),
    ("❌ `terraform destroy` 실행", "terraform destroy", "terraform plan"),
    ('"python"은 쓰지 말고 "python3"를 쓸 것', "python x.py", "python3 x.py"),
    ("`python`은 사용하지 말고 `python3`를 사용하세요.", "python x.py", "python3 x.py"),
]
PATHS = [
    "Files under src/gen/ must not be edited.",
    "Avoid editing files in `src/gen/`.",
    "src/gen/ 아래 파일은 편집하지 않는다",
    "src/gen/에 있는 파일은 수정하지 마세요.",
    "src/gen/을 수정하지 마세요.",
]
NO_COMMAND = [
    "Never drop the database.",
    "Avoid long functions.",
    "Please avoid using global variables.",
    "Avoid `any`.",
    "Avoid using `var`.",
    "Avoid merge commits.",
    "Avoid `sudo` where possible.",
    "Avoid committing secrets.",
    "`any` is forbidden.",
    "Never: guess.",
    "Forbidden: long functions",
    "❌ `sudo make` fails on CI",
    "❌ Bad: `sudo make`",
    "❌ `sudo make`가 실패합니다",
    "`sudo`를 피하지 마세요.",
    "긴 함수는 피하세요.",
    "전역 변수 사용을 지양할 것",
    "데이터베이스를 삭제하지 마세요.",
]
#: Rules about a branch, and commands that do not show it.
BRANCH = [
    ("Never commit directly to main", "git commit -m x"),
    ("Never commit on the main branch.", "git commit -m x"),
    ("Do not commit to any protected branch.", "git commit -m x"),
    ("Never commit or push to main.", "git commit -m x"),
    ("Never merge to main.", "gh pr merge 3"),
    ("Never force-push to main.", "git push -f origin dev"),
    ("main 브랜치에 직접 커밋하지 마세요", "git commit -m x"),
    ("`main`에 커밋하지 마세요", "git commit -m x"),
    ("main 브랜치에 머지하지 마세요", "git merge dev"),
    ("main 브랜치에 강제 푸시하지 마세요", "git push -f origin dev"),
    ("main ブランチに直接コミットしないでください。", "git commit -m x"),
    ("不要直接提交到 main 分支。", "git commit -m x"),
]
SHOWN = [
    ("Never commit or push to main.", "git push origin main"),
    ("Never force-push to main.", "git push -f origin main"),
    ("main 브랜치에 강제 푸시하지 마세요", "git push -f origin main"),
    ("main 브랜치에 `git push --force` 금지", "git push -f origin main"),
    ("Never force-push, on any branch.", "git push -f origin dev"),
    ("Never commit.", "git commit -m x"),
    ("어떤 브랜치에도 커밋하지 마세요", "git commit -m x"),
]


#: Lists whose head forbids, a command that breaks them, and the line it stands on.
LISTS = [
    ("Forbidden commands:\n\n- `ls x`\n- `npm publish`\n\n`npm test` is fine.\n", 4),
    ("## Never run\n- `npm publish` (the release job does)\n", 2),
    ("Do not run any of the following commands:\n* `npm publish`\n", 2),
    ("The following commands are forbidden:\n1. `npm publish`\n", 2),
    ("Do not:\n- guess\n- run `npm publish`. Run `npm test` instead.\n", 3),
    ("금지 명령어:\n- `npm publish`\n", 2),
    ("## 하지 말 것\n- `npm publish` 실행\n", 2),
    ("다음 명령은 절대 사용하지 마세요:\n- `npm publish`\n", 2),
]
OTHER_LISTS = [
    "Allowed commands:\n- `npm publish`\n",
    "Never guess:\n- `npm publish` tells\n",
    "## Forbidden\n\nUse `npm publish` to publish.\n",
    "Do not run:\n- `make`\n\nRun:\n- `npm publish`\n",
    "금지 명령어:\n- `make`\n\n허용 명령어:\n- `npm publish`\n",
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


@pytest.mark.parametrize("rule, breaks, keeps", FORMS)
def test_a_command_is_forbidden_in_many_words(rule: str, breaks: str, keeps: str) -> None:
    assert says(rule, breaks) and not says(rule, keeps)


@pytest.mark.parametrize("rule", PATHS)
def test_so_is_a_path(rule: str) -> None:
    scene = Scene(AGENTS_md=f"{rule}\n")
    edit = "Edit {}\n--- old\na\n--- new\nb"
    assert rule in spoken(scene.proposes_edit(edit.format("src/gen/api.py")), scene).text
    assert silent(scene.proposes_edit(edit.format("src/api.py")))


@pytest.mark.parametrize("rule", NO_COMMAND)
def test_what_names_no_command_for_sure_is_left_alone(rule: str) -> None:
    scene = Scene(AGENTS_md=f"{rule}\n")
    assert not scene.bank.knowledge
    for command in ("sudo make", "dropdb shop", "git commit -m x", "any", "var"):
        assert silent(scene.proposes(command))


@pytest.mark.parametrize("rule, command", BRANCH)
def test_on_which_branch_a_command_is_it_must_show(rule: str, command: str) -> None:
    assert not says(rule, command)


@pytest.mark.parametrize("rule, command", SHOWN)
def test_where_it_shows_the_branch_it_is_told(rule: str, command: str) -> None:
    assert says(rule, command)


def test_in_a_message_a_cross_tells_how_a_check_ended() -> None:
    scene = Scene("The checks say:\n- ✅ `npm run build`\n- ❌ `npm test`\n")
    assert silent(scene.proposes("npm test"))
    scene.said("⛔ `npm test`")
    assert not silent(scene.proposes("npm test"))


@pytest.mark.parametrize("text, line", LISTS)
def test_the_head_of_a_list_forbids_its_items(text: str, line: int) -> None:
    scene = Scene(AGENTS_md=text)
    said = spoken(scene.proposes("npm publish"), scene)
    assert f"AGENTS.md:{line}" in said.text and said.sure
    assert silent(scene.proposes("npm test"))


@pytest.mark.parametrize("text", OTHER_LISTS)
def test_another_head_does_not(text: str) -> None:
    assert silent(Scene(AGENTS_md=text).proposes("npm publish"))
