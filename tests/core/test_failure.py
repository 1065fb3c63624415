"""Did a step fail, and why: by its exit code and by its output."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from pmem.core import symptoms
from pmem.core.data import table
from pmem.core.failure import Verdict, judge
from pmem.core.step import Step


def step(action: str, observation: str = "", code: int | None = 0, **more: object) -> Step:
    fields: dict[str, object] = {"kind": "command", **more}
    kind = str(fields.pop("kind"))
    return Step(1, kind, action, observation, exit_code=code, **fields)  # type: ignore[arg-type]


def passed(action: str, observation: str = "", code: int | None = 0, **more: object) -> bool:
    return judge(step(action, observation, code, **more)) == Verdict(False)


def failure(action: str, observation: str = "", code: int | None = 0, **more: object) -> str:
    """Why the step failed; the test fails if it did not."""
    verdict = judge(step(action, observation, code, **more))
    assert verdict.failed, observation
    return verdict.failure


@pytest.fixture
def shell(tmp_path: Path):
    """Runs a line in a real bash and judges it as a step."""

    def run(line: str, files: dict[str, str] | None = None) -> Verdict:
        for name, text in (files or {}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        python = str(Path(sys.executable).parent)
        env = {**os.environ, "LC_ALL": "C", "PATH": f"{python}:{os.environ['PATH']}"}
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return judge(step(line, done.stdout.decode(), done.returncode))

    return run


# -- by exit code ------------------------------------------------------------------------------


def test_a_command_that_ends_non_zero_failed(shell) -> None:
    verdict = shell("python -c 'import nothing_of_this_name'")
    assert verdict == Verdict(True, "ModuleNotFoundError: No module named 'nothing_of_this_name'")
    assert shell("exit 3") == Verdict(True, "")
    assert "nosuchprogram: command not found" in shell("nosuchprogram --version").failure
    assert "No such file or directory" in shell("cat missing.txt").failure


def test_a_command_that_ends_zero_passed_whatever_it_prints(shell) -> None:
    assert not shell("python -c 'print(\"Traceback (most recent call last):\\nError: x\")'").failed
    assert not shell("true && python -c 'print(\"fatal: no\")'").failed


def test_nothing_found_and_different_are_answers(shell) -> None:
    files = {"a.txt": "one\n", "b.txt": "two\n", ".gitignore": ""}
    for line in (
        "grep three a.txt",
        "cat a.txt | grep -c three",
        "cd . && grep -q three a.txt",
        "diff a.txt b.txt",
        "cmp -s a.txt b.txt",
        "test -e c.txt",
        "[ -e c.txt ]",
        "[[ one == two ]]",
        "which nosuchprogram",
        "command -v nosuchprogram",
        "ls c.txt 2>/dev/null",
        "! grep one a.txt",
        "sudo() { \"$@\"; }; timeout 5 grep three a.txt",
        "bash -c 'grep three a.txt'",
    ):  # fmt: skip
        assert not shell(line, files).failed, line


def test_a_search_that_could_not_search_failed(shell) -> None:
    assert "No such file" in shell("grep three missing.txt").failure
    assert shell("ls missing").failed


def test_a_check_that_is_pending_is_no_failure() -> None:
    table = "lint\tpending\t0\thttps://x\nunit\tfail\t3m\thttps://y"
    assert passed("gh pr checks 7 --watch=false", table, 8)
    assert passed("sleep 60; gh pr checks 7", table, 1)
    assert passed("[write_stdin session 7] ''", table, 8)
    assert passed("kubectl wait --for=condition=ready pod/x", "error: timed out", 1)
    assert passed("for i in 1 2 3; do curl -sf localhost:80 && break; sleep 1; done", "", 7)
    assert passed("until pg_isready; do sleep 1; done", "", 1)
    assert failure("gh pr checks 7", "bash: gh: command not found", 127)


def test_a_call_the_user_turned_down_is_no_failure() -> None:
    said = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    assert passed("make", said, None, is_error=True)
    assert passed("Edit a.py", said, None, is_error=True, kind="edit")
    assert passed("make", "anything", 1, refused=True)


def test_ended_by_the_person_or_by_a_full_pipe_is_no_failure() -> None:
    assert passed("npm run dev", "listening on :3000\n^C", 130)
    assert passed("yes | head -1", "y", 141)
    assert failure("timeout 5 make", "", 124) == "timed out"


def test_words_never_fail() -> None:
    for kind in ("message", "user", "compaction"):
        assert passed("x", "Error: everything failed", None, kind=kind)


# -- behind a 0 --------------------------------------------------------------------------------

UNITTEST = """\
import unittest


class Adds(unittest.TestCase):
    def test_error_is_failed(self):
        self.assertEqual(1, 2)
"""
HIDING = [
    "{} 2>&1 | tail -20",
    "{} || true",
    "{}; echo done",
    "{} 2>&1 | cat\nls",
    'x=$({}); echo "$x"',
]


@pytest.mark.parametrize("manner", HIDING)
def test_what_hides_an_exit_code_does_not_hide_a_failure(shell, manner: str) -> None:
    verdict = shell(manner.format("python -m unittest test_x.py"), {"test_x.py": UNITTEST})
    assert verdict == Verdict(True, "AssertionError: 1 != 2")


@pytest.mark.parametrize("manner", HIDING)
def test_and_shows_none_where_there_is_none(shell, manner: str) -> None:
    files = {"test_x.py": UNITTEST.replace("(1, 2)", "(1, 1)")}
    assert not shell(manner.format("python -m unittest -v test_x.py"), files).failed


def test_pytest_behind_a_pipe(shell) -> None:
    files = {"test_x.py": "def test_x():\n    assert 1 == 2\n"}
    verdict = shell("python -m pytest -p no:cacheprovider test_x.py 2>&1 | tail -40", files)
    assert verdict == Verdict(True, "FAILED test_x.py::test_x - assert 1 == 2")


def test_a_script_behind_a_pipe(shell) -> None:
    files = {"x.py": "import sys\nprint('reading')\nsys.stdout.flush()\nopen('no.csv')\n"}
    verdict = shell("python x.py 2>&1 | tail -3", files)
    assert verdict.failure == "FileNotFoundError: [Errno 2] No such file or directory: 'no.csv'"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_make_behind_a_pipe_tells_what_failed_not_that_it_failed(shell) -> None:
    files = {"Makefile": "all:\n\tpython x.py\n", "x.py": "raise SystemExit('x: no config')\n"}
    assert shell("make 2>&1 | tail", files).failed
    assert "No rule to make target" in shell("make clean 2>&1 | tail").failure


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_compiler_behind_a_pipe(shell) -> None:
    files = {"a.c": "int main(void) { return x; }\n", "Makefile": "a: a.c\n\tgcc -o a a.c\n"}
    for line in ("gcc a.c 2>&1 | head -5", "make 2>&1 | head; true", "make"):
        assert "a.c:1:25: error: " in shell(line, files).failure


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_tells_the_error_not_the_stack(shell) -> None:
    files = {"a.js": "require('./db')\n"}
    assert shell("node a.js 2>&1 | tail -20", files).failure == "Error: Cannot find module './db'"
    assert shell("node a.js", files).failure == "Error: Cannot find module './db'"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_behind_a_pipe(shell) -> None:
    verdict = shell("git init -q . && git checkout nosuchbranch 2>&1 | cat")
    assert "pathspec 'nosuchbranch' did not match" in verdict.failure


def test_a_file_that_was_read_never_fails_the_step(shell) -> None:
    log = "Traceback (most recent call last):\nValueError: bad\n--- FAIL: TestX\nnpm ERR! no\n"
    files = {"app.log": log, "x.py": "# error: this fails\n"}
    for line in (
        "cat app.log",
        "tail -5 app.log | head -3",
        "grep -n Error app.log; ls",
        "sed -n 1,3p app.log || true",
        "for f in *.log; do cat $f; done",
        "cat app.log | grep FAIL | sort",
        "find . -name '*.log' -exec cat {} +",
    ):
        assert not shell(line, files).failed, line


def test_grep_hits_among_a_build_do_not_fail_it(shell) -> None:
    files = {"x.py": "raise Error\nError: in a text\nERROR: in another\nerror: in a third\n"}
    assert not shell("python -c 1; grep -rn rror x.py; grep -h rror x.py", files).failed


def test_the_command_itself_may_say_how_it_ended(shell) -> None:
    assert shell('python -c "exit(3)"; echo "exit $?"').failed
    assert not shell('python -c "print(\'error: no\')"; echo "exit $?"').failed
    assert shell('python -c "exit(3)" | cat; echo "exit=${PIPESTATUS[0]}"').failed
    assert shell("python -c 'exit(3)'; rc=$?; echo code $rc; exit 0").failed
    assert shell("python -c 'exit(3)' && echo all good || echo it went wrong") == Verdict(
        True, "it went wrong"
    )
    assert not shell("python -c 'exit(0)' && echo all good || echo it went wrong").failed
    assert not shell("grep x y 2>/dev/null || echo nothing found").failed


def test_a_directory_that_is_not_there_fails_the_line_however_it_ends(shell) -> None:
    assert "cd: nosuchdir: No such file or directory" in shell("cd nosuchdir; ls").failure
    assert "cd: nosuchdir" in shell("cd nosuchdir\npython -c 1 | cat").failure
    assert not shell("cat log; ls", {"log": "cd: gone: No such file or directory\n"}).failed


def test_what_pmem_shows_of_a_failure_is_none() -> None:
    said = "✗ 3 2 make\n  make: *** [Makefile:2: all] Error 2\n"
    for line in ("pmem status; pmem bank list; pmem log", "pmem log | tail -3"):
        assert passed(line, said)


def test_a_download_that_found_nobody_fails_behind_a_pipe() -> None:
    said = "curl: (7) Failed to connect to localhost port 80"
    assert failure("curl -s localhost | head", said) == said
    assert passed("curl -s localhost | head", "<html>\nError: none\nfatal: text\n")


def test_the_output_a_line_keeps_and_shows_is_its_own(shell) -> None:
    files = {"x.py": "raise KeyError('a')\n"}
    for line in (
        "python x.py > out.txt 2>&1; tail -3 out.txt",
        "python x.py 2>&1 | tee all.log >/dev/null; cat all.log",
        "python x.py | grep -c found",
        "python x.py & wait; true",
    ):
        assert shell(line, files).failure == "KeyError: 'a'", line
    files["old.log"] = "KeyError: 'b'\n"
    assert not shell("python -c 1 | cat; cat old.log", files).failed


def test_a_command_that_is_repeated_before_it_runs_tells_nothing() -> None:
    assert failure("npm run lint", "\n> app@1.0.0 lint\n> exit 3\n", 3) == ""
    assert failure("npm run lint", "> app@1.0.0 lint\n> x\n3 files differ\n", 3) == "3 files differ"


def test_cleaning_up_what_is_not_there_is_no_failure(shell) -> None:
    assert not shell(
        "rm nosuchfile; rmdir nosuchdir || true; pkill -x nosuchprogram; python -c 1"
    ).failed


def test_a_line_that_stops_at_its_first_failure_proves_all_before(shell) -> None:
    assert not shell("set -euo pipefail; python -c 'print(\"error: x\")' | cat; ls").failed
    assert not shell("python -c 'print(\"error: x\")' && python -c 1").failed


GO_FAILS = """\
=== RUN   TestParse
    parse_test.go:41: got 3, want 4
--- FAIL: TestParse (0.00s)
=== RUN   TestOther
--- PASS: TestOther (0.00s)
FAIL
FAIL\texample.org/parse\t0.012s
FAIL
"""
CARGO_FAILS = """\
   Compiling parse v0.1.0
error[E0425]: cannot find value `x` in this scope
 --> src/lib.rs:2:5
error: could not compile `parse` (lib) due to 1 previous error
"""
JEST_FAILS = """\
FAIL src/a.test.js
  ● adds › two numbers

    expect(received).toBe(expected)

Tests:       1 failed, 3 passed, 4 total
"""
TSC_FAILS = """\
> tsc --noEmit
src/a.ts(4,7): error TS2322: Type 'string' is not assignable to type 'number'.
Found 1 error in src/a.ts:4
"""
MAVEN_FAILS = """\
[INFO] BUILD FAILURE
[ERROR] /p/src/main/java/A.java:[3,8] cannot find symbol
[ERROR] -> [Help 1]
"""
GRADLE_FAILS = """\
> Task :compileJava FAILED
e: file:///p/A.kt:3:8 Unresolved reference: foo
BUILD FAILED in 2s
"""
NPM_FAILS = """\
npm error Missing script: "buidl"
npm error
npm error A complete log of this run can be found in: /home/x/.npm/_logs/1.log
"""
RUST_PANIC = """\
thread 'main' (81230) panicked at src/main.rs:4:20:
no such config
note: run with `RUST_BACKTRACE=1`
"""


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (GO_FAILS, "parse_test.go:41: got 3, want 4"),
        (CARGO_FAILS, "error[E0425]: cannot find value `x` in this scope"),
        (JEST_FAILS, "● adds › two numbers"),
        (
            TSC_FAILS,
            "src/a.ts(4,7): error TS2322: Type 'string' is not assignable to type 'number'.",
        ),
        (MAVEN_FAILS, "[ERROR] /p/src/main/java/A.java:[3,8] cannot find symbol"),
        (GRADLE_FAILS, "e: file:///p/A.kt:3:8 Unresolved reference: foo"),
        (NPM_FAILS, 'npm error Missing script: "buidl"'),
        (RUST_PANIC, "thread 'main' panicked at src/main.rs:4:20: no such config"),
    ],
)
def test_the_most_telling_line_is_told(output: str, told: str) -> None:
    assert failure("make all 2>&1 | tail -40", output) == told
    assert failure("make all", output, 2) == told
    assert failure("make all", f"Exit code 1\n\x1b[31m{output}\x1b[0m", None, is_error=True) == told


def test_a_run_that_ends_well_passed_whatever_its_tests_logged() -> None:
    output = "fatal: not a repository\nError: expected\nPASS\nok  \texample.org/x\t0.3s\n"
    assert passed("go test ./... 2>&1 | tail -20", output)
    assert passed(
        "cargo test | tail", "thread 'a' says: error: x\ntest result: ok. 3 passed; 0 failed"
    )
    assert not passed("go test ./... 2>&1 | tail", output + "FAIL\texample.org/y\t0.1s\nFAIL\n")


def test_that_a_command_was_ended_tells_more_than_what_it_printed() -> None:
    output = "Command timed out after 2m 0.0s\nError: cannot load plugin\nrunning 3 tests\n"
    assert failure("npm test", output, 143) == "Command timed out after 2m 0.0s"
    assert (
        failure("npm test", "Error: x\n\nCommand aborted", None, is_error=True) == "Command aborted"
    )


def test_a_failure_is_one_line_of_160_characters() -> None:
    told = failure("make", f"a\nError: {'long ' * 500}\nb", 1)
    assert len(told) <= 160 and told.endswith("…") and "\n" not in told
    assert failure("make", "10%\r50%\r\x1b[31mError:\tno space\x1b[0m\n", 1) == "Error: no space"


# -- without an exit code ----------------------------------------------------------------------


def test_without_a_code_the_output_decides() -> None:
    assert failure("python x.py", "Traceback (most recent call last):\n  File\nKeyError: 'a'", None)
    assert passed("python x.py", "Result: 3 errors avoided", None)
    assert failure("cat nofile", "cat: nofile: No such file or directory", None)
    assert passed("cat notes", "we saw\ncat: nofile: No such file or directory\nthen\nmore\n", None)


SCREEN = """\
New Terminal Output:
dev@box:/app# cat old.log
Traceback (most recent call last):
ValueError: old
dev@box:/app# {}
{}
dev@box:/app#
"""


def test_a_screen_is_judged_command_by_command() -> None:
    action = "cat old.log\nmake install\n"
    good = SCREEN.format("make install", "installed")
    bad = SCREEN.format("make install", "bash: make: command not found")
    assert passed(action, good, None)
    assert failure(action, bad, None) == "bash: make: command not found"


VOICES = table("voices")


@pytest.mark.parametrize("language", VOICES)
def test_shells_complain_in_many_languages(language: str) -> None:
    for phrase in VOICES[language]:
        line = f"bash: nosuch: {phrase}"
        assert failure("./run.sh | tail", f"start\n{line}\n") == line, phrase


@pytest.mark.parametrize(
    "line",
    [
        "bash: 没有: 未找到命令",
        "bash: foo：未找到命令",
        "zsh: command not found: foo",
        "(eval):1: no matches found: *.foo",
        "/bin/sh: 1: foo: not found",
        "./run.sh: line 3: foo: command not found",
        "ls: cannot access 'x': No such file or directory",
        "cp: «x» 호출 실패: 그런 파일이나 디렉터리가 없습니다",
        "fish: Unknown command: foo",
        "a.c:3:5: 오류: 'x' undeclared",
        "a.c:3:5: エラー: 'x' undeclared",
        "curl: (7) Failed to connect to localhost port 80",
        "Segmentation fault (core dumped)",
    ],
)
def test_these_lines_are_failures_behind_a_pipe(line: str) -> None:
    assert failure("./run.sh 2>&1 | tail", f"start\n{line}\n") == " ".join(line.split())


# -- tools of the agent's own ------------------------------------------------------------------


def test_a_tool_fails_by_its_mark_or_by_what_it_begins_with() -> None:
    said = "<tool_use_error>String to replace not found in file.\nString: error</tool_use_error>"
    assert failure("Edit a.py", said, None, kind="edit") == "String to replace not found in file."
    assert failure("Edit a.py", "No match", None, kind="edit", is_error=True) == "No match"
    assert passed("Edit a.py", "done: error handling added", None, kind="edit")
    assert passed("Read errors.py", "raise Error: x\nTraceback", None, kind="read")
    assert failure("Read a.py", "File does not exist.", None, kind="read", is_error=True)


# -- any input ---------------------------------------------------------------------------------

TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=200)


@examples(300)
@given(
    TEXT,
    TEXT,
    st.sampled_from(["command", "edit", "read", "tool", "message", "other"]),
    st.none() | st.integers(-9, 300),
    st.none() | st.booleans(),
)
def test_any_step_has_a_verdict(
    action: str, observation: str, kind: str, code: int | None, is_error: bool | None
) -> None:
    verdict = judge(step(action, observation, code, kind=kind, is_error=is_error))
    assert len(verdict.failure) <= symptoms.MAX_FAILURE
    assert "\n" not in verdict.failure
    assert verdict.failed or not verdict.failure


def test_a_long_output_is_looked_at_from_both_ends() -> None:
    noise = "compiling unit\n" * 100_000
    assert failure("make | cat", f"a.c:1:2: error: x\n{noise}") == "a.c:1:2: error: x"
    assert failure("make | cat", f"{noise}a.c:1:2: error: x\n") == "a.c:1:2: error: x"
