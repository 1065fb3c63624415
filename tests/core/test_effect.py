"""Does an action only read, change something, or can nobody tell."""

from __future__ import annotations

import pytest

from pmem.core.effect import Effect, effect
from pmem.core.step import Action


def of(command: str) -> Effect:
    return effect(Action("command", command))


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat a.txt | head -5",
        "grep -rn 'rm -rf' src | sort | uniq -c",
        "rg TODO; find . -name '*.py' -exec grep -l x {} +",
        "find . -type f | xargs grep -l main",
        "git status && git log --oneline -3 && git diff HEAD~1",
        "git branch -a; git remote -v; git stash list; git config --get user.name; git tag",
        "git -C ../other --no-pager show HEAD",
        "sed -n '1,80p' x.py",
        "head -3 x > /dev/null",
        "echo hi",
        "cd src && ls",
        "d=$(go env GOMODCACHE) && grep -rn x $d",
        "[ -f x ] && test -d y; which node; command -v npm",
        "python --version; npm --version",
        "pip list; npm ls; cargo tree; go list ./...",
        "docker ps; kubectl get pods; systemctl status nginx",
        "gh pr view 3; gh api repos/a/b/pulls",
        "pmem status; pmem log --decisions; pmem bank show make; pmem doctor",
        "curl -s http://localhost:8080/health",
        "cat log | tee /dev/stderr | wc -l",
        "for f in *.c; do wc -l $f; done",
        "sudo cat /etc/shadow",
        "bash -c 'ls; pwd'",
        "",
    ],
)
def test_looking_around_only_reads(command: str) -> None:
    assert of(command) is Effect.READS


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "mv a b",
        "echo x > a.txt",
        "cat <<EOF >> a.txt\nx\nEOF",
        "ls > files.txt",
        "cat a | tee b",
        "sed -i 's/a/b/' x",
        "find . -name '*.o' -delete",
        "find . -name '*.o' -exec rm {} ;",
        "git ls-files | xargs rm",
        "npm install left-pad",
        "pip install -r requirements.txt && pytest",
        "sudo apt-get install -y gcc",
        "export DB=x",
        "DB=x",
        "source venv/bin/activate",
        "cd src",
        "git checkout -b x; ls",
        "git stash",
        "git pull",
        "git commit -m x",
        "git branch -D x",
        "git config user.name me",
        "docker compose up -d",
        "systemctl restart nginx",
        "kill 123",
        "chmod +x run.sh",
        "bash -c 'cd x && rm y'",
        "if true; then mkdir x; fi",
        "gh api -X DELETE repos/a/b",
        "curl -o a.tgz http://x/y",
    ],
)
def test_what_leaves_something_behind_changes(command: str) -> None:
    assert of(command) is Effect.CHANGES


@pytest.mark.parametrize(
    "command",
    [
        "npm test",
        "pytest -x 2>&1 | tail",
        "make",
        "./run.sh",
        "python x.py",
        "cargo build && ls",
        "cd api && npm run build",
        "timeout 60 go test ./...",
        "npm test > /tmp/out.log 2>&1",
        "make 2>&1 | tee build.log",
        "CI=1 npm test",
        "(cd a; ./b)",
        "curl -X POST http://localhost/x",
        "mise run lint",
    ],
)
def test_builds_tests_and_scripts_are_unknown(command: str) -> None:
    assert of(command) is Effect.UNKNOWN


def test_a_compound_is_its_strongest_part() -> None:
    assert of("ls; make; rm x") is Effect.CHANGES
    assert of("ls; make") is Effect.UNKNOWN


def test_the_words_of_a_text_are_no_commands() -> None:
    assert of("echo 'rm -rf /' && cat <<EOF\nrm -rf /\nEOF") is Effect.READS


def test_other_kinds_of_steps() -> None:
    kinds = {
        kind: effect(Action(kind, "x")) for kind in ("edit", "read", "tool", "message", "user")
    }
    assert kinds == {
        "edit": Effect.CHANGES,
        "read": Effect.READS,
        "tool": Effect.UNKNOWN,
        "message": Effect.READS,
        "user": Effect.READS,
    }
